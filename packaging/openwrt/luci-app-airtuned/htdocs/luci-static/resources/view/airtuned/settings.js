// SPDX-License-Identifier: Apache-2.0
'use strict';
'require form';
'require view';

// A time as airtuned writes it: 1500us, 8ms, 1s.
function duration(section, value) {
	return value == '' || /^[0-9]+(\.[0-9]+)?(us|ms|s)$/.test(value) || _('a time with its unit, such as 1500us or 8ms');
}

return view.extend({
	render: function() {
		const m = new form.Map('airtuned', _('Wi-Fi latency'),
			_('What is left empty is airtuned\'s own choice: the profile of the radio\'s chip.'));
		let s, o;

		s = m.section(form.NamedSection, 'main', 'airtuned', _('Daemon'));
		o = s.option(form.Flag, 'enabled', _('Enabled'));
		o.default = o.enabled;
		o.rmempty = false;
		o = s.option(form.Flag, 'sandbox', _('Sandbox'), _('Give up all files that are not needed, where the kernel has Landlock.'));
		o.default = o.enabled;
		o.rmempty = false;
		o = s.option(form.Value, 'socket', _('Control socket'));
		o.placeholder = '/var/run/airtuned/airtuned.sock';
		o = s.option(form.Value, 'group', _('Group that may ask for the status'));
		o.placeholder = 'airtuned';
		o = s.option(form.Value, 'sample', _('Sample'), _('How often the hardware queue is looked at.'));
		o.placeholder = '20ms';
		o.validate = duration;
		o = s.option(form.Value, 'window', _('Window'), _('How often limits are decided on.'));
		o.placeholder = '200ms';
		o.validate = duration;
		o = s.option(form.ListValue, 'placement', _('Placement'), _('Take network work off a CPU that it saturates, where packet steering does not.'));
		o.optional = true;
		o.value('auto');
		o.value('off');
		o = s.option(form.Value, 'interfaces', _('Wired interfaces'), _('To look after besides the radios\', with blanks between.'));
		o.placeholder = 'eth0 eth1';

		s = m.section(form.GridSection, 'radio', _('Radios'),
			_('The first entry that matches a radio is the only one that counts for it. Patterns know *, ? and [a-z].'));
		s.addremove = true;
		s.anonymous = true;
		s.sortable = true;
		s.option(form.Flag, 'enabled', _('Enabled')).default = '1';
		for (const [ name, title, example ] of [
			[ 'chip', _('Chip'), 'QCA9984' ], [ 'driver', _('Driver'), 'ath10k_pci' ], [ 'bus', _('Bus'), 'pci' ],
			[ 'path', _('Device path'), '*1b500000.pcie*' ], [ 'phy', _('Phy'), 'phy0' ], [ 'interface', _('Interface'), 'phy0-ap0' ]
		]) {
			o = s.option(form.Value, name, title);
			o.placeholder = example;
			o.modalonly = name != 'chip' && name != 'interface';
		}
		o = s.option(form.ListValue, 'policy', _('Policy'));
		o.value('', _('of the profile'));
		o.value('delay', _('delay: the smallest limit that costs no airtime'));
		o.value('dql', _('dql: as the kernel does for Ethernet'));
		o.value('static', _('static: fixed limits of the profile'));
		o.value('kernel-default', _('kernel-default: the kernel\'s own limits'));
		o.value('observe', _('observe: never write'));
		o = s.option(form.Value, 'target', _('Target'), _('The longest that frames may stay in the hardware queue, even at the price of throughput.'));
		o.validate = (section, value) => value == 'none' || duration(section, value);
		for (const [ name, title ] of [ [ 'min', _('Smallest limit') ], [ 'max', _('Largest limit') ] ]) {
			o = s.option(form.Value, name, title);
			o.validate = duration;
			o.modalonly = true;
		}
		o = s.option(form.ListValue, 'threaded_napi', _('Threaded NAPI'));
		o.modalonly = true;
		o.value('', _('of the profile'));
		for (const mode of [ 'auto', 'on', 'off', 'leave' ])
			o.value(mode);
		o = s.option(form.ListValue, 'pacing_shift', _('TCP pacing shift'), _('How much the router\'s own TCP may queue. Only kernels with a patch have it.'));
		o.modalonly = true;
		o.value('', _('of the profile'));
		for (const shift of [ 'auto', 'leave', '5', '6', '7', '8', '9', '10' ])
			o.value(shift);
		o = s.option(form.Flag, 'force', _('Force'), _('Write limits even where they are known to have no effect.'));
		o.modalonly = true;

		return m.render();
	}
});
