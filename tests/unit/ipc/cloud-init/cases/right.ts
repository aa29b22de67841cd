import { type CloudInitCase, doc } from './cloud-init-case.ts'

const clean = (name: string, input: string | Uint8Array): CloudInitCase => ({ name, input, expect: [] })

/** User-data of which nothing is to be said. */
export const RIGHT: CloudInitCase[] = [
  clean('nothing', ''),
  clean('a header with space and capitals', '#Cloud-Config  \npackages: [nginx]\n'),
  clean('no line break at the end', '#cloud-config\npackages: [nginx]'),
  clean('a cloud-config with Windows line ends', '#cloud-config\r\npackages:\r\n  - nginx\r\n'),
  clean('users in lists of names', '#cloud-config\nusers:\n  - default\n  - [ann, bob]\n'),
  clean('a document marker after the header', '#cloud-config\n---\npackages: [nginx]\n...\n'),
  clean(
    'users and files as the manual has them',
    doc`
#cloud-config
# a web server
hostname: web-1
fqdn: web-1.example.com
timezone: Europe/Berlin
locale: de_DE.UTF-8
users:
  - default
  - name: zoë
    gecos: Zoë Müller
    groups: [sudo, docker]
    shell: /bin/bash
    sudo: ALL=(ALL) NOPASSWD:ALL
    lock_passwd: true
    ssh_authorized_keys:
      - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl zoe@laptop
package_update: true
packages:
  - nginx
  - [libpython3-dev, 3.11.2-1]
write_files:
  - path: /etc/app/app.conf
    owner: root:root
    permissions: '0644'
    content: |
      listen: 0.0.0.0:8080
      	tabs: are text here
      mode: on
runcmd:
  - [systemctl, enable, --now, nginx]
  - 'echo "status: ok" > /etc/status'
  - curl -fsS http://localhost:8080/health || true
final_message: "up after $UPTIME seconds"
`,
  ),
  clean(
    'anchors and merge keys',
    doc`
#cloud-config
users:
  - &base
    name: ada
    shell: /bin/bash
    groups: &groups [sudo, adm]
  - <<: *base
    name: bob
  - name: eve
    groups: *groups
`,
  ),
  clean(
    'folded and indented blocks',
    doc`
#cloud-config
write_files:
- path: /usr/local/bin/hello
  permissions: "0755"
  content: |2
      #!/bin/sh
      echo hello
- path: /etc/motd
  append: true
  content: >-
    welcome
    to this machine
- path: /var/lib/empty
runcmd:
- |
  set -e
  for f in /etc/a /etc/b; do
    touch "$f"
  done
`,
  ),
  clean(
    'quoted text over several lines that starts at the margin',
    doc`
#cloud-config
final_message: "the first line
and the second"
`,
  ),
  clean(
    'flow style as JSON',
    '#cloud-config\n{"packages": ["nginx", "curl"], "package_update": true, "write_files": [{"path": "/a", "content": "b"}]}\n',
  ),
  clean('a script', '#!/bin/bash\nset -euo pipefail\n\techo "tabs and: colons"\n'),
  clean('a script of Python', '#!/usr/bin/env python3\nprint("hello")\n'),
  clean('an include', '#include\n# ours\nhttps://example.com/base.yaml\nhttp://10.0.0.1/b.sh\n'),
  clean(
    'a template',
    doc`
## template: jinja
#cloud-config
{% set port = 8080 %}
hostname: {{ v1.local_hostname }}
{% if v1.distro == 'debian' %}
packages: [nginx]
{% else %}
packages: [httpd]
{% endif %}
runcmd:
  - echo {{ v1.instance_id }} {{ ds.meta_data.instance_id }} {{ port }}
`,
  ),
  clean(
    'MIME as cloud-init make-mime writes it',
    doc`
Content-Type: multipart/mixed; boundary="===============2197920354430400835=="
MIME-Version: 1.0
Number-Attachments: 2

--===============2197920354430400835==
Content-Type: text/cloud-config; charset="utf-8"
MIME-Version: 1.0
Content-Transfer-Encoding: 7bit
Content-Disposition: attachment; filename="config.yaml"

#cloud-config
packages: [nginx]

--===============2197920354430400835==
Content-Type: text/x-shellscript; charset="utf-8"
MIME-Version: 1.0
Content-Transfer-Encoding: 7bit
Content-Disposition: attachment; filename="script.sh"

#!/bin/sh
echo hello

--===============2197920354430400835==--
`,
  ),
  clean(
    'MIME that begins with other lines of mail',
    doc`
From nobody Sat Jan  1 00:00:00 2022
Number-Attachments: 1
Content-Type: multipart/mixed; boundary=b
MIME-Version: 1.0

--b
Content-Type: text/cloud-config

packages: [nginx]
--b--
`,
  ),
  clean(
    'marks of a template over several lines',
    doc`
## template: jinja
#cloud-config
{# what this is,
and why #}
{% set names = [
'a', 'b'
] %}
hostname: {{ names
  | first
}}
write_files:
  - path: /etc/motd
    content: |
      {{ names
| join(' ') }}
      welcome
`,
  ),
  clean(
    'branches of a template, of which the guest sees one',
    doc`
## template: jinja
#cloud-config
packages: {% if v1.distro == 'debian' %}[nginx]{% elif v1.distro == 'ubuntu' %}[{{ v1.distro }}]{% else %}[nano]{% endif %}
final_message: {% if v1.region %}"{{ v1.region }}"{% else %}'none'{% endif %}
runcmd:
{% if v1.region == 'eu' %}
  - [echo, eu]
{% else %}
    - {% if v1.distro == 'debian' %}"echo a"{% else %}"echo b"{% endif %}
    - echo other
{% endif %}
  - echo end
`,
  ),
  clean(
    'loops inside of a file, and a line that is made whole by a template',
    doc`
## template: jinja
#cloud-config
{% macro command(name) -%}
  - systemctl restart {{ name }}
{%- endmacro %}
write_files:
  - path: /etc/motd
    content: |
      {%- for key in ds.meta_data %}
      {{ key }}
      {%- endfor %}
runcmd:
  - systemctl daemon-reload
{{ command('nginx') }}
`,
  ),
  clean('0 and 1 for true and false', '#cloud-config\ndisable_root: 0\npackage_update: 1\n'),
  clean(
    'permissions in decimal, the only numbers JSON has',
    '#cloud-config\n{"write_files": [{"path": "/a", "permissions": 493}, {"path": "/b", "permissions": 420}]}\n',
  ),
  clean(
    'a MIME part that is a template by its type',
    doc`
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/jinja2

## template:jinja
#cloud-config
hostname: {{ v1.local_hostname }}
--b--
`,
  ),
  clean(
    'yes and off where they are true and false',
    '#cloud-config\nssh_pwauth: off\npackage_upgrade: yes\ndisable_root: no\n',
  ),
  clean(
    'numbers where they belong',
    '#cloud-config\nusers:\n  - name: ada\n    uid: 1001\nswap:\n  filename: /swapfile\n  size: 1073741824\n',
  ),
  clean(
    'quoted words that look like numbers',
    '#cloud-config\nhostname: "0123"\nfinal_message: \'52:54:00:12:34:56\'\n',
  ),
  clean('a growpart that is off as the fleet has it', '#cloud-config\ngrowpart: {mode: "off"}\n'),
]
