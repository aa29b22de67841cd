import { type CloudInitCase, doc } from './cloud-init-case.ts'

/** What the guest's YAML 1.1 reader refuses, or reads otherwise than it looks. */
export const WRONG_YAML: CloudInitCase[] = [
  {
    name: 'a tab for indentation',
    input: '#cloud-config\nusers:\n\t- name: ada\n',
    expect: [[3, 'tab', 'error']],
  },
  {
    name: 'a tab after a value',
    input: '#cloud-config\nhostname: web-1\t# the first\n',
    expect: [[2, 'tab', 'error']],
  },
  {
    name: 'a key that is not in line with its neighbours',
    input: doc`
#cloud-config
write_files:
  - path: /etc/motd
     content: hello
`,
    expect: [[4, 'indent', 'error']],
  },
  {
    name: 'a key that stands between two levels',
    input: doc`
#cloud-config
users:
    - name: ada
  packages:
    - nginx
`,
    expect: [[4, 'indent', 'error']],
  },
  {
    name: 'a key given twice',
    input: doc`
#cloud-config
runcmd:
  - apt-get update
packages: [nginx]
runcmd:
  - systemctl restart nginx
`,
    expect: [[5, 'duplicate-key', 'error']],
  },
  {
    name: 'a nested key given twice',
    input: doc`
#cloud-config
users:
  - name: ada
    shell: /bin/bash
    groups: sudo
    shell: /bin/zsh
`,
    expect: [[6, 'duplicate-key', 'error']],
  },
  {
    name: 'a quote that is never closed',
    input: doc`
#cloud-config
final_message: "ready
packages:
  - nginx
`,
    expect: [[2, 'quote', 'error']],
  },
  {
    name: 'a value that begins with @',
    input: '#cloud-config\nssh_import_id:\n  - @ada\n',
    expect: [[3, 'reserved-character', 'error']],
  },
  {
    name: 'a value that begins with a backtick',
    input: '#cloud-config\nruncmd:\n  - `hostname`\n',
    expect: [[3, 'reserved-character', 'error']],
  },
  {
    name: 'a value that begins with %',
    input: '#cloud-config\nusers:\n  - name: ada\n    groups: %wheel\n',
    expect: [[4, 'reserved-character', 'error']],
  },
  {
    name: 'a password with a colon and a space',
    input: '#cloud-config\npassword: pass: word\n',
    expect: [[2, 'colon', 'error']],
  },
  {
    name: 'a password that becomes a comment',
    input: '#cloud-config\npassword: #Secret1\n',
    expect: [[2, 'no-value', 'warning']],
  },
  {
    name: 'a password that begins with an asterisk',
    input: '#cloud-config\npassword: *Secret1\n',
    expect: [[2, 'alias', 'error']],
  },
  {
    name: 'two documents',
    input: doc`
#cloud-config
packages: [nginx]
---
runcmd:
  - "true"
`,
    expect: [[3, 'several-documents', 'error']],
  },
  { name: 'a list at the top', input: '#cloud-config\n- nginx\n- curl\n', expect: [[2, 'not-a-map', 'error']] },
  { name: 'only comments', input: '#cloud-config\n# packages: [nginx]\n', expect: [[1, 'empty', 'warning']] },
  {
    name: 'a tag of another program',
    input: '#cloud-config\nhostname: !Ref Name\n',
    expect: [[2, 'tag', 'error']],
  },
  {
    name: 'a MAC address without quotes',
    input: doc`
#cloud-config
rpi:
  enable_usb_gadget: true
write_files:
  - path: /etc/macs
    content: 52:54:00:12:34:56
`,
    expect: [[6, 'not-text', 'error']],
  },
  {
    name: 'a MAC address in a list of words',
    input: '#cloud-config\nruncmd:\n  - [ip, link, set, eth0, address, 52:54:00:12:34:56]\n',
    expect: [[3, 'not-text', 'warning']],
  },
  { name: 'a hostname of no', input: '#cloud-config\nhostname: no\n', expect: [[2, 'not-text', 'warning']] },
  {
    name: 'an octal number for permissions',
    input: doc`
#cloud-config
write_files:
  - path: /etc/app.conf
    permissions: 0644
    content: x
`,
    expect: [[4, 'not-text', 'warning']],
  },
  {
    name: 'a decimal number for permissions',
    input: doc`
#cloud-config
write_files:
  - path: /etc/app.conf
    permissions: 644
    content: x
`,
    expect: [[4, 'permissions', 'error']],
  },
  {
    name: 'permissions that are no octal number',
    input: doc`
#cloud-config
write_files:
  - path: /etc/app.conf
    permissions: 'rw-r--r--'
    content: x
`,
    expect: [[4, 'permissions', 'warning']],
  },
  {
    name: 'a version that loses its last digit',
    input: doc`
#cloud-config
packages:
  - [golang, 1.20]
`,
    expect: [[3, 'not-text', 'warning']],
  },
  {
    name: 'a date that is no text any more',
    input: '#cloud-config\nusers:\n  - name: ada\n    expiredate: 2030-12-31\n',
    expect: [[4, 'not-text', 'warning']],
  },
  {
    name: 'a date that does not exist',
    input: '#cloud-config\nfinal_message: 2030-13-45\n',
    expect: [[2, 'date', 'error']],
  },
  {
    name: 'on as an argument of a command',
    input: '#cloud-config\nruncmd:\n  - [timedatectl, set-ntp, on]\n',
    expect: [[3, 'not-text', 'warning']],
  },
]
