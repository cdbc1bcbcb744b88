// SPDX-License-Identifier: Apache-2.0
'use strict';
'require dom';
'require poll';
'require rpc';
'require ui';
'require view';

const callStatus = rpc.declare({ object: 'airtuned', method: 'status' });
const callRestore = rpc.declare({ object: 'airtuned', method: 'restore', params: [ 'radio' ] });
const callResume = rpc.declare({ object: 'airtuned', method: 'resume', params: [ 'radio' ] });

// change calls a method for a radio and tells when it failed.
function change(call, radio) {
	return call(radio).then(answer => {
		if (answer.error)
			ui.addNotification(null, E('p', {}, answer.error.message), 'error');
	});
}

function ms(us) {
	return us ? '%.1f ms'.format(us / 1000) : '-';
}

function limits(radio) {
	const be = radio.aql?.limits?.BE;
	if (!be)
		return '-';
	return be.low_us == be.high_us ? '%d us'.format(be.low_us) : '%d / %d us'.format(be.low_us, be.high_us);
}

function renderRadio(radio) {
	const held = radio.state == 'held' || radio.state == 'restored';
	return E('tr', { 'class': 'tr' }, [
		E('td', { 'class': 'td' }, [ E('strong', {}, radio.phy), E('br'), radio.chip || radio.driver ]),
		E('td', { 'class': 'td' }, [ radio.state, E('br'), E('small', {}, radio.reason || '') ]),
		E('td', { 'class': 'td' }, radio.policy),
		E('td', { 'class': 'td' }, limits(radio)),
		E('td', { 'class': 'td' }, ms(radio.residency_us?.mean)),
		E('td', { 'class': 'td' }, ms(radio.residency_us?.p95)),
		E('td', { 'class': 'td' }, '%.1f Mb/s'.format((radio.throughput_kbps || 0) / 1000)),
		E('td', { 'class': 'td' }, String(radio.active_stations ?? 0)),
		E('td', { 'class': 'td cbi-section-actions' }, E('button', {
			'class': 'cbi-button ' + (held ? 'cbi-button-apply' : 'cbi-button-reset'),
			'disabled': radio.state == 'gone' || null,
			'click': ui.createHandlerFn(this, () => change(held ? callResume : callRestore, radio.path))
		}, held ? _('Resume') : _('Restore')))
	]);
}

function renderStatus(status) {
	if (status.error)
		return E('p', { 'class': 'alert-message warning' }, status.error.message);
	const titles = [ _('Radio'), _('State'), _('Policy'), _('Limit'), _('Time in queue'), _('95 %'),
		_('Throughput'), _('Active stations'), '' ];
	return E('table', { 'class': 'table cbi-section-table' }, [
		E('tr', { 'class': 'tr table-titles' }, titles.map(title => E('th', { 'class': 'th' }, title)))
	].concat(status.radios.map(renderRadio)));
}

return view.extend({
	load: callStatus,

	render: function(status) {
		const body = E('div', { 'class': 'cbi-section' }, renderStatus(status));
		poll.add(() => callStatus().then(status => dom.content(body, renderStatus(status))), 3);
		return E([], [
			E('h2', {}, _('Wi-Fi latency')),
			E('div', { 'class': 'cbi-map-descr' },
				_('airtuned keeps the queue in the radio as short as it can be without starving the air. "Restore" puts the original limits back and leaves the radio alone until "Resume".')),
			body
		]);
	},

	handleSave: null,
	handleSaveApply: null,
	handleReset: null
});
