import { type CloudInitCase, doc } from './cloud-init-case.ts'

/** YAML that reads well and does not do what its writer thinks. */
export const WRONG_CONFIG: CloudInitCase[] = [
  {
    name: 'package for packages',
    input: '#cloud-config\npackage:\n  - nginx\n',
    expect: [[2, 'unknown-key', 'warning']],
  },
  {
    name: 'run_cmd for runcmd',
    input: '#cloud-config\nrun_cmd:\n  - "true"\n',
    expect: [[2, 'unknown-key', 'warning']],
  },
  {
    name: 'write-files for write_files',
    input: '#cloud-config\nwrite-files:\n  - path: /a\n    content: b\n',
    expect: [[2, 'unknown-key', 'warning']],
  },
  {
    name: 'mode for permissions',
    input: "#cloud-config\nwrite_files:\n  - path: /a\n    mode: '0644'\n    content: b\n",
    expect: [[4, 'unknown-key', 'warning']],
  },
  {
    name: 'a colon inside a command',
    input: doc`
#cloud-config
runcmd:
  - systemctl enable app
  - echo "status: ok" > /etc/status
  - echo status: ok
`,
    expect: [
      [4, 'map-for-command', 'error'],
      [5, 'map-for-command', 'error'],
    ],
  },
  {
    name: 'runcmd as a map',
    input: '#cloud-config\nruncmd:\n  first: echo hello\n',
    expect: [[2, 'wrong-shape', 'error']],
  },
  {
    name: 'runcmd as one line',
    input: '#cloud-config\nruncmd: apt-get update\n',
    expect: [[2, 'wrong-shape', 'error']],
  },
  { name: 'a command that is a number', input: '#cloud-config\nruncmd:\n  - 42\n', expect: [[3, 'not-text', 'error']] },
  { name: 'a command that is true', input: '#cloud-config\nruncmd:\n  - true\n', expect: [[3, 'not-text', 'error']] },
  {
    name: 'runcmd without commands',
    input: '#cloud-config\nruncmd:\npackages: [nginx]\n',
    expect: [[2, 'no-value', 'warning']],
  },
  {
    name: 'an item with nothing in it',
    input: '#cloud-config\npackages:\n  - nginx\n  -\n  - curl\n',
    expect: [[4, 'no-value', 'warning']],
  },
  {
    name: 'a file without a path',
    input: "#cloud-config\nwrite_files:\n  - content: hello\n    permissions: '0644'\n",
    expect: [[3, 'no-path', 'error']],
  },
  {
    name: 'a file whose content is a list',
    input: '#cloud-config\nwrite_files:\n  - path: /etc/hosts.allow\n    content:\n      - sshd\n      - ALL\n',
    expect: [[4, 'wrong-shape', 'error']],
  },
  {
    name: 'a file whose content is a map',
    input: '#cloud-config\nwrite_files:\n  - path: /etc/app.yaml\n    content:\n      port: 80\n',
    expect: [[4, 'wrong-shape', 'error']],
  },
  {
    name: 'files as a map',
    input: '#cloud-config\nwrite_files:\n  path: /etc/motd\n  content: hello\n',
    expect: [[2, 'wrong-shape', 'error']],
  },
  {
    name: 'a user without a name',
    input: '#cloud-config\nusers:\n  - default\n  - groups: sudo\n    shell: /bin/bash\n',
    expect: [[4, 'no-name', 'warning']],
  },
  {
    name: 'one key as text at the top',
    input: '#cloud-config\nssh_authorized_keys: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMq ada@laptop\n',
    expect: [[2, 'wrong-shape', 'error']],
  },
  {
    name: 'a private key for a public one',
    input: doc`
#cloud-config
ssh_authorized_keys:
  - |
    -----BEGIN OPENSSH PRIVATE KEY-----
    b3BlbnNzaC1rZXktdjEAAAAABG5vbmU=
    -----END OPENSSH PRIVATE KEY-----
`,
    expect: [[3, 'private-key', 'error']],
  },
  {
    name: 'the name of a key file for a key',
    input: '#cloud-config\nssh_authorized_keys:\n  - ~/.ssh/id_ed25519.pub\n',
    expect: [[3, 'ssh-key', 'warning']],
  },
  {
    name: 'a password for a locked account',
    input: '#cloud-config\nusers:\n  - name: ada\n    lock_passwd: true\n    plain_text_passwd: "correct horse"\n',
    expect: [
      [5, 'locked-password', 'warning'],
      [5, 'secret-in-clear', 'info'],
    ],
  },
  {
    name: 'a password and nothing that unlocks the account',
    input: '#cloud-config\nusers:\n  - name: ada\n    hashed_passwd: "$6$salt$hash"\n',
    expect: [[4, 'locked-password', 'warning']],
  },
  {
    name: 'an unknown word for ssh_pwauth',
    input: '#cloud-config\nssh_pwauth: enabled\n',
    expect: [[2, 'wrong-value', 'warning']],
  },
  { name: 'a city for a time zone', input: '#cloud-config\ntimezone: Berlin\n', expect: [[2, 'timezone', 'warning']] },
  {
    name: 'vendor data switched off',
    input: '#cloud-config\nvendor_data:\n  enabled: false\n',
    expect: [[3, 'vendor-data-off', 'warning']],
  },
  {
    name: 'growing the disk twice',
    input: '#cloud-config\ngrowpart:\n  mode: auto\n',
    expect: [[2, 'fleet-disk', 'info']],
  },
  {
    name: 'time servers of its own',
    input: '#cloud-config\nntp:\n  enabled: true\n  servers: [ntp.example.com]\n',
    expect: [[2, 'fleet-clock', 'info']],
  },
  {
    name: 'a guest that turns itself off',
    input: '#cloud-config\npower_state:\n  mode: poweroff\n  delay: now\n',
    expect: [[3, 'power-state', 'warning']],
  },
  {
    name: 'commands of every boot',
    input: '#cloud-config\nbootcmd:\n  - echo hello\n',
    expect: [[2, 'every-boot', 'info']],
  },
  {
    name: 'network configuration in the wrong document',
    input: '#cloud-config\nnetwork:\n  version: 2\n  ethernets:\n    eth0:\n      dhcp4: true\n',
    expect: [[2, 'network-config', 'warning']],
  },
  {
    name: 'netplan without its first level',
    input: '#cloud-config\nversion: 2\nethernets:\n  eth0:\n    dhcp4: true\n',
    expect: [[3, 'network-config', 'warning']],
  },
  { name: 'packages as one word', input: '#cloud-config\npackages: nginx\n', expect: [[2, 'wrong-shape', 'warning']] },
  {
    name: 'a true that is quoted text',
    input: '#cloud-config\npackage_update: "yes please"\n',
    expect: [[2, 'wrong-value', 'warning']],
  },
]
