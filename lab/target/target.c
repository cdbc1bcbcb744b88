// SPDX-License-Identifier: GPL-2.0-only
/*
 * A PCI bus of emulated QCA9984 radios: their configuration space, the driver
 * that binds them to the ath10k core, HTC, interrupts, and knobs in debugfs.
 *
 * The registers and copy engines of the chip are not emulated: the seam is
 * the core's struct ath10k_hif_ops, so the core itself is unmodified.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/version.h>

#include "target.h"

#define VENDOR	0x168c
#define DEVICE	QCA9984_1_0_DEVICE_ID

static unsigned int svc_us;
module_param(svc_us, uint, 0444);
MODULE_PARM_DESC(svc_us, "the first radio's host serves tx completions this often, us; 0: at once");

static unsigned int kbps = 866700;
module_param(kbps, uint, 0444);
MODULE_PARM_DESC(kbps, "rate of every radio but the first, at first, kb/s");

static struct emu_target *targets[EMU_MAX_RADIOS];
static unsigned int present; /* devices that answer on the bus */
static struct pci_host_bridge *bridge;
static struct dentry *debugfs_dir;

/* HTC. */

struct sk_buff *emu_alloc(unsigned int len)
{
	struct sk_buff *skb = alloc_skb(len + sizeof(struct ath10k_htc_hdr) + 64, GFP_ATOMIC);

	if (!skb)
		return NULL;
	skb_reserve(skb, sizeof(struct ath10k_htc_hdr));
	memset(skb_put(skb, len), 0, len);
	return skb;
}

void emu_queue(struct sk_buff_head *list, u8 eid, struct sk_buff *skb)
{
	struct ath10k_htc_hdr *hdr;
	unsigned int len = skb->len;

	hdr = skb_push(skb, sizeof(*hdr));
	memset(hdr, 0, sizeof(*hdr));
	hdr->eid = eid;
	hdr->len = cpu_to_le16(len);
	skb_queue_tail(list, skb);
}

void emu_to_host(struct emu_target *t, u8 eid, struct sk_buff *skb)
{
	emu_queue(&t->to_host, eid, skb);
}

/* May be called with air_lock held and interrupts off. */
void emu_interrupt(struct emu_target *t)
{
	if (t->running && t->ar)
		napi_schedule(&t->ar->napi);
}

/* A WMI command has been read: its buffer is free again. */
static void return_credit(struct emu_target *t, u8 eid, unsigned int credits)
{
	struct ath10k_htc_record *record;
	struct ath10k_htc_hdr *hdr;
	unsigned int len = sizeof(record->hdr) + sizeof(record->credit_report[0]);
	struct sk_buff *skb = emu_alloc(len);

	if (!skb)
		return;
	record = (void *)skb->data;
	record->hdr.id = ATH10K_HTC_RECORD_CREDITS;
	record->hdr.len = sizeof(record->credit_report[0]);
	record->credit_report[0].eid = eid;
	record->credit_report[0].credits = credits;
	emu_to_host(t, ATH10K_HTC_EP_0, skb);
	hdr = (void *)skb->data;
	hdr->flags = ATH10K_HTC_FLAG_TRAILER_PRESENT;
	hdr->trailer_len = len;
}

#define CREDITS		2
#define CREDIT_SIZE	1792

static void htc_ready(struct emu_target *t)
{
	struct sk_buff *skb = emu_alloc(sizeof(struct ath10k_ath10k_htc_msg_hdr) +
					sizeof(struct ath10k_htc_ready));
	struct ath10k_htc_msg *msg;

	if (!skb)
		return;
	msg = (void *)skb->data;
	msg->hdr.message_id = cpu_to_le16(ATH10K_HTC_MSG_READY_ID);
	msg->ready.credit_count = cpu_to_le16(CREDITS);
	msg->ready.credit_size = cpu_to_le16(CREDIT_SIZE);
	msg->ready.max_endpoints = ATH10K_HTC_EP_COUNT;
	emu_to_host(t, ATH10K_HTC_EP_0, skb);
}

static void htc_connect(struct emu_target *t, const struct ath10k_htc_msg *req)
{
	u16 service = le16_to_cpu(req->connect_service.service_id);
	struct sk_buff *skb = emu_alloc(sizeof(struct ath10k_ath10k_htc_msg_hdr) +
					sizeof(struct ath10k_htc_conn_svc_response));
	struct ath10k_htc_msg *msg;

	if (!skb)
		return;
	msg = (void *)skb->data;
	msg->hdr.message_id = cpu_to_le16(ATH10K_HTC_MSG_CONNECT_SERVICE_RESP_ID);
	msg->connect_service_response.service_id = req->connect_service.service_id;
	switch (service) {
	case ATH10K_HTC_SVC_ID_WMI_CONTROL:
		t->wmi_eid = t->next_eid;
		break;
	case ATH10K_HTC_SVC_ID_HTT_DATA_MSG:
		t->htt_eid = t->next_eid;
		break;
	default:
		msg->connect_service_response.status = ATH10K_HTC_CONN_SVC_STATUS_NOT_FOUND;
	}
	msg->connect_service_response.eid = t->next_eid++;
	msg->connect_service_response.max_msg_size = cpu_to_le16(CREDIT_SIZE);
	emu_to_host(t, ATH10K_HTC_EP_0, skb);
}

static void htc_control(struct emu_target *t, const void *data)
{
	const struct ath10k_htc_msg *msg = data;

	switch (le16_to_cpu(msg->hdr.message_id)) {
	case ATH10K_HTC_MSG_CONNECT_SERVICE_ID:
		htc_connect(t, msg);
		break;
	case ATH10K_HTC_MSG_SETUP_COMPLETE_EX_ID:
		emu_wmi_service_ready(t);
		break;
	}
}

static void htc_receive(struct emu_target *t, void *data, unsigned int len)
{
	struct ath10k_htc_hdr *hdr = data;
	void *payload = hdr + 1;

	if (t->crashed || len < sizeof(*hdr))
		return;
	len -= sizeof(*hdr);
	if (hdr->eid == ATH10K_HTC_EP_0) {
		htc_control(t, payload);
	} else if (hdr->eid == t->htt_eid) {
		emu_htt_message(t, payload, len);
	} else if (hdr->eid == t->wmi_eid) {
		return_credit(t, hdr->eid,
			      DIV_ROUND_UP(len + sizeof(*hdr), CREDIT_SIZE));
		emu_wmi_command(t, payload, len);
	}
}

/* HIF. */

static struct emu_target *target_of(struct ath10k *ar)
{
	return *(struct emu_target **)ar->drv_priv;
}

static int hif_tx_sg(struct ath10k *ar, u8 pipe, struct ath10k_hif_sg_item *items, int n)
{
	struct emu_target *t = target_of(ar);
	bool interrupt = false;
	unsigned long flags;
	int i;

	spin_lock_irqsave(&air_lock, flags);
	if (!t->running) {
		spin_unlock_irqrestore(&air_lock, flags);
		return -ESHUTDOWN;
	}
	/* A frame's second item is only a copy of its beginning. */
	htc_receive(t, items[0].vaddr, items[0].len);
	for (i = 0; i < n; i++)
		if (items[i].transfer_context)
			skb_queue_tail(&t->taken, items[i].transfer_context);
	interrupt = !skb_queue_empty(&t->taken) || !skb_queue_empty(&t->to_host);
	spin_unlock_irqrestore(&air_lock, flags);

	if (interrupt) {
		local_bh_disable();
		emu_interrupt(t);
		local_bh_enable();
	}
	return 0;
}

static int hif_exchange_bmi_msg(struct ath10k *ar, void *req, u32 req_len,
				void *resp, u32 *resp_len)
{
	struct bmi_cmd *cmd = req;
	union bmi_resp *r = resp;

	if (le32_to_cpu(cmd->id) != BMI_GET_TARGET_INFO || !resp)
		return -EIO;
	r->get_target_info.version = cpu_to_le32(QCA9984_HW_1_0_DEV_VERSION);
	r->get_target_info.type = 0;
	*resp_len = sizeof(r->get_target_info);
	return 0;
}

static int hif_start(struct ath10k *ar)
{
	struct emu_target *t = target_of(ar);
	unsigned long flags;

	ath10k_core_napi_enable(ar);
	spin_lock_irqsave(&air_lock, flags);
	t->crashed = t->crash_seen = false;
	t->next_eid = ATH10K_HTC_EP_1;
	t->wmi_eid = t->htt_eid = 0;
	t->running = true;
	htc_ready(t);
	spin_unlock_irqrestore(&air_lock, flags);

	local_bh_disable();
	emu_interrupt(t);
	local_bh_enable();
	return 0;
}

/* Nothing of what the firmware knew is left. */
static void hif_stop(struct ath10k *ar)
{
	struct emu_target *t = target_of(ar);
	struct sk_buff *skb;
	unsigned long flags;

	spin_lock_irqsave(&air_lock, flags);
	t->running = false;
	emu_wmi_stop(t);
	emu_htt_stop(t);
	air_kick();
	spin_unlock_irqrestore(&air_lock, flags);
	hrtimer_cancel(&t->beacon);
	hrtimer_cancel(&t->scan.timer);
	hrtimer_cancel(&t->service);
	hrtimer_cancel(&t->pull_timer);

	ath10k_core_napi_sync_disable(ar);
	skb_queue_purge(&t->to_host);
	while ((skb = skb_dequeue(&t->taken)))
		ath10k_htc_tx_completion_handler(ar, skb);
}

static int hif_map_service_to_pipe(struct ath10k *ar, u16 service, u8 *ul, u8 *dl)
{
	switch (service) {
	case ATH10K_HTC_SVC_ID_RSVD_CTRL:
		*ul = 0, *dl = 1;
		return 0;
	case ATH10K_HTC_SVC_ID_WMI_CONTROL:
		*ul = 3, *dl = 2;
		return 0;
	case ATH10K_HTC_SVC_ID_HTT_DATA_MSG:
		*ul = 4, *dl = 5;
		return 0;
	}
	return -ENOENT;
}

static void hif_get_default_pipe(struct ath10k *ar, u8 *ul, u8 *dl)
{
	*ul = 0, *dl = 1;
}

static u16 hif_get_free_queue_number(struct ath10k *ar, u8 pipe)
{
	return 1024;
}

static int hif_power_up(struct ath10k *ar, enum ath10k_firmware_mode mode)
{
	return 0;
}

static void hif_power_down(struct ath10k *ar)
{
}

static int hif_diag_read(struct ath10k *ar, u32 address, void *buf, size_t len)
{
	memset(buf, 0, len);
	return 0;
}

static int hif_diag_write(struct ath10k *ar, u32 address, const void *data, int len)
{
	return 0;
}

static u32 hif_read32(struct ath10k *ar, u32 address)
{
	return 0;
}

static void hif_write32(struct ath10k *ar, u32 address, u32 value)
{
}

static const struct ath10k_hif_ops hif_ops = {
	.tx_sg = hif_tx_sg,
	.diag_read = hif_diag_read,
	.diag_write = hif_diag_write,
	.exchange_bmi_msg = hif_exchange_bmi_msg,
	.start = hif_start,
	.stop = hif_stop,
	.map_service_to_pipe = hif_map_service_to_pipe,
	.get_default_pipe = hif_get_default_pipe,
	.get_free_queue_number = hif_get_free_queue_number,
	.read32 = hif_read32,
	.write32 = hif_write32,
	.power_up = hif_power_up,
	.power_down = hif_power_down,
};

/* As pci.c: all that has come in, then the frames among it. */
static int napi_poll(struct napi_struct *napi, int budget)
{
	struct ath10k *ar = container_of(napi, struct ath10k, napi);
	struct emu_target *t = target_of(ar);
	struct sk_buff *skb;
	int done;

	if (t->crashed && t->crash_seen) {
		napi_complete(napi);
		return 0;
	}
	if (t->crashed) {
		t->crash_seen = true;
		spin_lock_bh(&ar->data_lock);
		ar->stats.fw_crash_counter++;
		spin_unlock_bh(&ar->data_lock);
		ath10k_err(ar, "firmware crashed!\n");
		napi_complete(napi);
		ath10k_core_start_recovery(ar);
		return 0;
	}
	while ((skb = skb_dequeue(&t->taken)))
		ath10k_htc_tx_completion_handler(ar, skb);
	while ((skb = skb_dequeue(&t->to_host)))
		ath10k_htc_rx_completion_handler(ar, skb);
	done = ath10k_htt_txrx_compl_task(ar, budget);
	if (done < budget) {
		napi_complete_done(napi, done);
		if (!skb_queue_empty(&t->taken) || !skb_queue_empty(&t->to_host))
			napi_schedule(napi);
	}
	return done;
}

/* The firmware says nothing from now on. */
void emu_crash(struct emu_target *t)
{
	t->crashed = true;
	emu_wmi_stop(t);
	emu_htt_stop(t);
	emu_interrupt(t);
}

struct emu_peer *emu_peer_find(struct emu_target *t, const u8 *addr, int vdev_id)
{
	struct emu_peer *p;

	list_for_each_entry(p, &t->peers, list)
		if ((vdev_id < 0 || p->vdev_id == vdev_id) &&
		    ether_addr_equal(p->addr, addr))
			return p;
	return NULL;
}

void emu_set_freq(struct emu_target *t, u32 freq)
{
	t->node.freq = freq;
	air_kick();
}

/* The knobs. */

static int stations_show(struct seq_file *s, void *unused)
{
	struct emu_target *t = s->private;
	struct emu_peer *p;
	unsigned long flags;

	spin_lock_irqsave(&air_lock, flags);
	seq_puts(s, "address kbps vo vi be bk ppdus mpdus retries failed bytes airtime_us\n");
	list_for_each_entry(p, &t->peers, list)
		seq_printf(s, "%pM %u %u %u %u %u %llu %llu %llu %llu %llu %llu\n",
			   p->addr, air_link_rate(&p->link).kbps,
			   air_link_frames(&p->link, AIR_VO),
			   air_link_frames(&p->link, AIR_VI),
			   air_link_frames(&p->link, AIR_BE),
			   air_link_frames(&p->link, AIR_BK),
			   p->link.tx.ppdus, p->link.tx.mpdus, p->link.tx.retries,
			   p->link.tx.failed, p->link.tx.bytes,
			   div_u64(p->link.tx.airtime_ns, 1000));
	spin_unlock_irqrestore(&air_lock, flags);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stations);

static int airtime_show(struct seq_file *s, void *unused)
{
	struct emu_target *t = s->private;
	unsigned long flags;

	spin_lock_irqsave(&air_lock, flags);
	seq_printf(s, "tx_us %llu\nrx_us %llu\nbusy_us %llu\nppdus %llu\nmpdus %llu\nretries %llu\nfailed %llu\nbytes %llu\nrx_dropped %llu\nframes_in %llu\nframes_out %llu\n",
		   div_u64(t->node.tx.airtime_ns, 1000),
		   div_u64(t->node.rx_airtime_ns, 1000),
		   div_u64(air_busy_ns(), 1000),
		   t->node.tx.ppdus, t->node.tx.mpdus, t->node.tx.retries,
		   t->node.tx.failed, t->node.tx.bytes, t->rx_dropped,
		   t->tx_frames, t->tx_done);
	spin_unlock_irqrestore(&air_lock, flags);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(airtime);

static int stalled_get(void *data, u64 *val)
{
	*val = ((struct emu_target *)data)->node.stalled;
	return 0;
}

static int stalled_set(void *data, u64 val)
{
	struct emu_target *t = data;
	unsigned long flags;

	spin_lock_irqsave(&air_lock, flags);
	t->node.stalled = val;
	air_kick();
	spin_unlock_irqrestore(&air_lock, flags);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(stalled_fops, stalled_get, stalled_set, "%llu\n");

static int pull_get(void *data, u64 *val)
{
	*val = ((struct emu_target *)data)->pull;
	return 0;
}

static int pull_set(void *data, u64 val)
{
	struct emu_target *t = data;
	unsigned long flags;

	local_bh_disable();
	spin_lock_irqsave(&air_lock, flags);
	t->pull = val;
	emu_htt_set_pull(t);
	spin_unlock_irqrestore(&air_lock, flags);
	local_bh_enable();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(pull_fops, pull_get, pull_set, "%llu\n");

static int kbps_get(void *data, u64 *val)
{
	*val = ((struct emu_target *)data)->node.kbps;
	return 0;
}

static int kbps_set(void *data, u64 val)
{
	if (!val || val > U32_MAX)
		return -EINVAL;
	((struct emu_target *)data)->node.kbps = air_rate_vht(val).kbps;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(kbps_fops, kbps_get, kbps_set, "%llu\n");

static int loss_get(void *data, u64 *val)
{
	*val = ((struct emu_target *)data)->node.loss;
	return 0;
}

static int loss_set(void *data, u64 val)
{
	if (val > 1000000)
		return -EINVAL;
	((struct emu_target *)data)->node.loss = val;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(loss_fops, loss_get, loss_set, "%llu\n");

static struct emu_target *target_new(unsigned int index)
{
	struct emu_target *t = kzalloc(sizeof(*t), GFP_KERNEL);
	unsigned long flags;
	char name[16];

	if (!t)
		return NULL;
	t->index = index;
	/* Locally administered. */
	memcpy(t->addr, (u8[]){ 0x02, 0x03, 0x7f, 0x00, index, 0x00 }, ETH_ALEN);
	/* The access point's sets no bound to those of its stations. */
	t->node.kbps = air_rate_vht(index ? kbps : U32_MAX).kbps;
	t->node.max_mpdus = ATH10K_HTT_MAX_NUM_AMPDU_DEFAULT;
	t->svc_us = index ? 0 : svc_us;
	skb_queue_head_init(&t->to_host);
	skb_queue_head_init(&t->taken);
	skb_queue_head_init(&t->reports);
	INIT_LIST_HEAD(&t->peers);
	emu_wmi_init(t);
	emu_htt_init(t);
	spin_lock_irqsave(&air_lock, flags);
	air_node_add(&t->node, &emu_node_ops);
	air_link_add(&t->basic, &t->node, NULL);
	spin_unlock_irqrestore(&air_lock, flags);

	snprintf(name, sizeof(name), "radio%u", index);
	t->dir = debugfs_create_dir(name, debugfs_dir);
	debugfs_create_file("stations", 0400, t->dir, t, &stations_fops);
	debugfs_create_file("airtime", 0400, t->dir, t, &airtime_fops);
	debugfs_create_file("kbps", 0600, t->dir, t, &kbps_fops);
	debugfs_create_file("loss", 0600, t->dir, t, &loss_fops);
	debugfs_create_file("stalled", 0600, t->dir, t, &stalled_fops);
	debugfs_create_file("pull", 0600, t->dir, t, &pull_fops);
	debugfs_create_u32("svc_us", 0600, t->dir, &t->svc_us);
	debugfs_create_u32("leak", 0600, t->dir, &t->leak);
	debugfs_create_bool("blind", 0600, t->dir, &t->blind);
	return t;
}

/* The driver of a device. */

/*
 * No regulatory database is needed, and no country: the radio itself says
 * what is allowed, which is everything that a lab may want.
 */
static const struct ieee80211_regdomain regdomain = {
	.n_reg_rules = 3,
	.alpha2 = "US",
	.reg_rules = {
		REG_RULE(2402, 2472, 40, 0, 23, 0),
		REG_RULE(5170, 5330, 160, 0, 23, 0),
		REG_RULE(5490, 5850, 160, 0, 23, 0),
	},
};

static void set_regdomain(struct wiphy *wiphy)
{
	int band, i;

	/* The ath regulatory code has marked them before registration. */
	for (band = 0; band < NUM_NL80211_BANDS; band++)
		for (i = 0; wiphy->bands[band] && i < wiphy->bands[band]->n_channels; i++)
			wiphy->bands[band]->channels[i].orig_flags &=
				~(IEEE80211_CHAN_NO_IR | IEEE80211_CHAN_RADAR |
				  IEEE80211_CHAN_DISABLED);
	wiphy->regulatory_flags |= REGULATORY_WIPHY_SELF_MANAGED;
	regulatory_set_wiphy_regd(wiphy, (struct ieee80211_regdomain *)&regdomain);
}

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct ath10k_bus_params params = { .dev_type = ATH10K_DEV_TYPE_LL };
	struct emu_target *t = targets[PCI_SLOT(pdev->devfn)];
	struct ath10k *ar;
	int ret;

	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(32));
	if (ret)
		return ret;
	ar = ath10k_core_create(sizeof(t), &pdev->dev, ATH10K_BUS_PCI,
				ATH10K_HW_QCA9984, &hif_ops);
	if (!ar)
		return -ENOMEM;
	*(struct emu_target **)ar->drv_priv = t;
	pci_set_drvdata(pdev, ar);
	ar->dev_id = pdev->device;
	ar->id.vendor = pdev->vendor;
	ar->id.device = pdev->device;
	ar->id.subsystem_vendor = pdev->subsystem_vendor;
	ar->id.subsystem_device = pdev->subsystem_device;
	ether_addr_copy(ar->mac_addr, t->addr);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
	netif_napi_add(ar->napi_dev, &ar->napi, napi_poll);
#else
	netif_napi_add(&ar->napi_dev, &ar->napi, napi_poll);
#endif
	t->ar = ar;
	ret = ath10k_core_register(ar, &params);
	if (ret) {
		t->ar = NULL;
		netif_napi_del(&ar->napi);
		ath10k_core_destroy(ar);
		return ret;
	}
	/* So that phys are numbered as the devices are. */
	flush_work(&ar->register_work);
	if (test_bit(ATH10K_FLAG_CORE_REGISTERED, &ar->dev_flags))
		set_regdomain(ar->hw->wiphy);
	return 0;
}

static void remove(struct pci_dev *pdev)
{
	struct ath10k *ar = pci_get_drvdata(pdev);
	struct emu_target *t = target_of(ar);

	ath10k_core_unregister(ar);
	t->ar = NULL;
	netif_napi_del(&ar->napi);
	ath10k_core_destroy(ar);
}

static const struct pci_device_id ids[] = {
	{ PCI_VDEVICE(ATHEROS, DEVICE) },
	{ }
};

/* The real driver's name, since programs know a radio by it. */
static struct pci_driver driver = {
	.name = "ath10k_pci",
	.id_table = ids,
	.probe = probe,
	.remove = remove,
};

/* The bus: what a device has in its configuration space. */

static int config_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *val)
{
	u8 space[64] = {
		[PCI_VENDOR_ID] = VENDOR & 0xff, VENDOR >> 8,
		[PCI_DEVICE_ID] = DEVICE & 0xff, DEVICE >> 8,
		[PCI_COMMAND] = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER,
		[PCI_CLASS_DEVICE] = 0x80, 0x02, /* a network controller */
		[PCI_SUBSYSTEM_VENDOR_ID] = VENDOR & 0xff, VENDOR >> 8,
		[PCI_SUBSYSTEM_ID] = 0xfe, 0xca,
	};

	if (PCI_SLOT(devfn) >= present || PCI_FUNC(devfn)) {
		*val = ~0;
		return PCIBIOS_DEVICE_NOT_FOUND;
	}
	*val = 0;
	if (where + size <= sizeof(space))
		memcpy(val, space + where, size);
	return PCIBIOS_SUCCESSFUL;
}

static int config_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 val)
{
	return PCI_SLOT(devfn) < present ? PCIBIOS_SUCCESSFUL : PCIBIOS_DEVICE_NOT_FOUND;
}

static struct pci_ops bus_ops = { .read = config_read, .write = config_write };

static struct resource bus_numbers = {
	.name = "ath10k_emu", .start = 0, .end = 0, .flags = IORESOURCE_BUS,
};

/* Plugs in radios until there are so many, one after the other. */
static int plug(unsigned int n)
{
	int ret;

	if (n > EMU_MAX_RADIOS)
		return -EINVAL;
	if (!bridge) {
		debugfs_dir = debugfs_create_dir("ath10k_emu", NULL);
		bridge = pci_alloc_host_bridge(0);
		if (!bridge)
			return -ENOMEM;
		pci_add_resource(&bridge->windows, &bus_numbers);
		bridge->ops = &bus_ops;
		ret = pci_host_probe(bridge);
		if (ret)
			return ret;
		ret = pci_register_driver(&driver);
		if (ret)
			return ret;
	}
	while (present < n) {
		targets[present] = target_new(present);
		if (!targets[present])
			return -ENOMEM;
		present++;
		pci_lock_rescan_remove();
		pci_rescan_bus(bridge->bus);
		pci_unlock_rescan_remove();
	}
	return 0;
}

static unsigned int wanted;
static DEFINE_MUTEX(plug_lock);

static void plug_work(struct work_struct *work)
{
	/* Firmware is read from the root file system. */
	if (system_state < SYSTEM_RUNNING) {
		schedule_delayed_work(to_delayed_work(work), 1);
		return;
	}
	mutex_lock(&plug_lock);
	if (plug(wanted))
		pr_err("ath10k_emu: not all of the radios\n");
	mutex_unlock(&plug_lock);
}
static DECLARE_DELAYED_WORK(plug_later, plug_work);

static int radios_set(const char *val, const struct kernel_param *kp)
{
	unsigned int n;
	int ret = kstrtouint(val, 0, &n);

	if (ret)
		return ret;
	if (n > EMU_MAX_RADIOS)
		return -EINVAL;
	if (system_state < SYSTEM_RUNNING) {
		wanted = n; /* and init() does it */
		return 0;
	}
	mutex_lock(&plug_lock);
	ret = plug(n);
	mutex_unlock(&plug_lock);
	return ret;
}

static int radios_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u\n", present);
}

static const struct kernel_param_ops radios_ops = { .set = radios_set, .get = radios_get };
module_param_cb(radios, &radios_ops, NULL, 0644);
MODULE_PARM_DESC(radios, "plug in radios until there are this many; the first is meant to be the access point");

static int __init emu_init(void)
{
	if (wanted)
		schedule_delayed_work(&plug_later, 1);
	return 0;
}
late_initcall(emu_init);

MODULE_DESCRIPTION("Emulated QCA9984 radios");
MODULE_LICENSE("GPL");
