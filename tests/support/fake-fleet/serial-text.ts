const ok = (text: string) => `[  \x1b[32mOK\x1b[0m  ] ${text}\r\n`

const UNITS = [
  'Created slice system-getty.slice - Slice /system/getty.',
  'Reached target local-fs-pre.target - Preparation for Local File Systems.',
  'Mounted boot-efi.mount - /boot/efi.',
  'Reached target local-fs.target - Local File Systems.',
  'Started systemd-resolved.service - Network Name Resolution.',
  'Finished cloud-init-local.service - Initial cloud-init job (pre-networking).',
  'Reached target network-pre.target - Preparation for Network.',
  'Started systemd-networkd.service - Network Configuration.',
  'Finished cloud-init.service - Initial cloud-init job (metadata service crawler).',
  'Started cron.service - Regular background program processing daemon.',
  'Started ssh.service - OpenBSD Secure Shell server.',
  'Reached target multi-user.target - Multi-User System.',
]

/** A Debian guest's serial output, with colours, wide characters and the queries a shell sends. */
export const BOOT_LOG = [
  '\x1b[0m[    0.000000] Linux version 6.1.0-30-cloud-amd64 (debian-kernel@lists.debian.org)\r\n',
  '[    0.000000] Command line: root=/dev/vda1 console=ttyS0\r\n',
  '[    0.412331] \x1b[33mACPI: PM-Timer IO Port: 0x608\x1b[0m\r\n',
  '[    0.973120] virtio_blk virtio2: [vda] 20971520 512-byte logical blocks (10.7 GB/10.0 GiB)\r\n',
  ...UNITS.map(ok),
  '[\x1b[1;31mFAILED\x1b[0m] Failed to start \x1b[1mfwupd-refresh.service\x1b[0m - Refresh fwupd metadata.\r\n',
  '\r\nDebian GNU/Linux 12 web-12 ttyS0\r\n\r\nweb-12 login: ada\r\nPassword: \r\n',
  'Linux web-12 6.1.0-30-cloud-amd64 #1 SMP x86_64\r\n\x1b[6n\x1b[c',
  '\x1b[1;32mada@web-12\x1b[0m:\x1b[1;34m~\x1b[0m$ ls --color\r\n',
  '\x1b[1;34mbackups\x1b[0m  deploy.sh  \x1b[1;36mlatest\x1b[0m  notes-größe.txt  \x1b[1;31mshop.tar.gz\x1b[0m\r\n',
  '\x1b[1;32mada@web-12\x1b[0m:\x1b[1;34m~\x1b[0m$ df -h /\r\n',
  'Filesystem      Size  Used Avail Use% Mounted on\r\n/dev/vda1       9.7G  2.1G  7.1G  23% /\r\n',
  '\x1b[1;32mada@web-12\x1b[0m:\x1b[1;34m~\x1b[0m$ ',
].join('')
