// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls the real ath10k_htt_tx_inc_pending() and ath10k_htt_tx_dec_pending() of
 * a loaded ath10k_core, which has no hardware here, on two structs of the right
 * layout in which little is true but what these functions and the BPF programs
 * read: the counts, and the way to a wiphy of mac80211_hwsim.
 *
 *	echo "inc 0 100" >/sys/module/standin/parameters/op
 */

#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <net/cfg80211.h>
#include <net/mac80211.h>

/* Neither function is exported; the addresses are from /proc/kallsyms. */
static ulong inc, dec;
module_param(inc, ulong, 0400);
module_param(dec, ulong, 0400);

/* The layout, from the module's BTF. */
static uint htt_size, htt_ar, htt_max, htt_empty, ar_size, ar_hw;
module_param(htt_size, uint, 0400);
module_param(htt_ar, uint, 0400);
module_param(htt_max, uint, 0400);
module_param(htt_empty, uint, 0400);
module_param(ar_size, uint, 0400);
module_param(ar_hw, uint, 0400);

static uint max = 100;
module_param(max, uint, 0400);

static void *htts[2];

static int op_set(const char *val, const struct kernel_param *kp)
{
	unsigned int radio, n;
	char op[4];
	int ret = 0;

	if (sscanf(val, "%3s %u %u", op, &radio, &n) != 3 ||
	    radio >= ARRAY_SIZE(htts) || !htts[radio])
		return -EINVAL;

	local_bh_disable();
	while (n--) {
		if (op[0] == 'i')
			ret = ((int (*)(void *))inc)(htts[radio]);
		else
			((void (*)(void *))dec)(htts[radio]);
		if (ret)
			break;
	}
	local_bh_enable();

	return ret;
}

static const struct kernel_param_ops op_ops = { .set = op_set };
module_param_cb(op, &op_ops, NULL, 0200);

static void standin_free(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(htts); i++) {
		if (htts[i])
			kfree(*(void **)(htts[i] + htt_ar));
		kfree(htts[i]);
	}
}

static int standin_add(int i)
{
	char name[IFNAMSIZ];
	struct net_device *dev;
	void *ar;

	snprintf(name, sizeof(name), "wlan%d", i);
	dev = dev_get_by_name(&init_net, name);
	if (!dev || !dev->ieee80211_ptr) {
		dev_put(dev);
		return -ENODEV;
	}

	htts[i] = kzalloc(htt_size, GFP_KERNEL);
	ar = kzalloc(ar_size, GFP_KERNEL);
	if (htts[i] && ar) {
		*(void **)(htts[i] + htt_ar) = ar;
		*(int *)(htts[i] + htt_max) = max + i;
		init_waitqueue_head(htts[i] + htt_empty);
		*(void **)(ar + ar_hw) =
			wiphy_to_ieee80211_hw(dev->ieee80211_ptr->wiphy);
	}
	dev_put(dev);

	return htts[i] && ar ? 0 : -ENOMEM;
}

static int __init standin_init(void)
{
	int i, ret;

	if (!inc || !dec || !htt_size || !ar_size)
		return -EINVAL;

	for (i = 0; i < ARRAY_SIZE(htts); i++) {
		ret = standin_add(i);
		if (ret) {
			standin_free();
			return ret;
		}
	}

	return 0;
}
module_init(standin_init);
module_exit(standin_free);

MODULE_DESCRIPTION("calls ath10k_core's functions without hardware");
MODULE_LICENSE("GPL");
