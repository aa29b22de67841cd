import { bytes, type CloudInitCase, doc } from './cloud-init-case.ts'

/** What is wrong before a line of YAML is read: first lines, encodings, templates, MIME. */
export const WRONG_ENVELOPE: CloudInitCase[] = [
  { name: 'no header at all', input: 'packages:\n  - nginx\n', expect: [[1, 'header-missing', 'error']] },
  {
    name: 'a blank line before the header of a cloud-config',
    input: '\n#cloud-config\npackages: [nginx]\n',
    expect: [[1, 'blank-first-line', 'warning']],
  },
  {
    name: 'a blank line before #! of a script',
    input: '\n\n#!/bin/sh\necho hello\n',
    expect: [[1, 'blank-first-line', 'error']],
  },
  {
    name: 'a byte order mark from a Windows editor',
    input: '\ufeff#cloud-config\nhostname: web-1\n',
    expect: [[1, 'byte-order-mark', 'error']],
  },
  {
    name: 'a script with Windows line ends',
    input: '#!/bin/sh\r\napt-get update\r\n',
    expect: [[1, 'crlf', 'warning']],
  },
  {
    name: 'a space after the hash',
    input: '# cloud-config\npackages: [nginx]\n',
    expect: [[1, 'header-misspelt', 'error']],
  },
  {
    name: 'an underscore in the header',
    input: '#cloud_config\npackages: [nginx]\n',
    expect: [[1, 'header-misspelt', 'error']],
  },
  {
    name: 'the header without its hash',
    input: 'cloud-config\npackages: [nginx]\n',
    expect: [[1, 'header-misspelt', 'error']],
  },
  {
    name: 'a licence comment above the header',
    input: '# (c) Example Corp\n#cloud-config\npackages: [nginx]\n',
    expect: [[1, 'header-late', 'error']],
  },
  {
    name: 'a document marker above the header',
    input: '---\n#cloud-config\npackages: [nginx]\n',
    expect: [[1, 'header-late', 'error']],
  },
  {
    name: 'shell commands without #!',
    input: 'set -eux\napt-get update\n',
    expect: [[1, 'header-missing', 'error']],
  },
  {
    name: 'a netplan file pasted as user-data',
    input: doc`
network:
  version: 2
  ethernets:
    eth0:
      dhcp4: true
`,
    expect: [[1, 'header-missing', 'error']],
  },
  {
    name: 'an interpreter without its path',
    input: '#!bash\necho hello\n',
    expect: [[1, 'shebang', 'warning']],
  },
  {
    name: 'an include of something that is no address',
    input: '#include\nhttps://example.com/base.yaml\ncommon/users.yaml\n',
    expect: [[3, 'include-url', 'error']],
  },
  {
    name: 'a template header without its space',
    input: '## template:jinja\n#cloud-config\nhostname: {{ v1.local_hostname }}\n',
    expect: [[1, 'header-misspelt', 'error']],
  },
  {
    name: 'a template language nobody knows',
    input: '## template: jinja2\n#cloud-config\npackages: [nginx]\n',
    expect: [[1, 'header-misspelt', 'error']],
  },
  {
    name: 'a template whose braces are never closed',
    input: doc`
## template: jinja
#cloud-config
hostname: web-{{ v1.instance_id
packages: [nginx]
`,
    expect: [[3, 'jinja-syntax', 'error']],
  },
  {
    name: 'a template whose if has no end',
    input: doc`
## template: jinja
#cloud-config
{% if v1.distro == 'debian' %}
packages: [nginx]
`,
    expect: [[3, 'jinja-syntax', 'error']],
  },
  {
    name: 'a template with a name that is not in v1',
    input: doc`
## template: jinja
#cloud-config
fqdn: {{ v1.hostname }}.example.com
`,
    expect: [[3, 'jinja-name', 'warning']],
  },
  {
    name: 'template words in a document that is no template',
    input: doc`
#cloud-config
runcmd:
  - "echo {{ v1.local_hostname }} > /etc/motd"
`,
    expect: [[3, 'jinja-header', 'warning']],
  },
  {
    name: 'a template of nothing known',
    input: '## template: jinja\npackages: [nginx]\n',
    expect: [[2, 'header-missing', 'error']],
  },
  {
    name: 'MIME without its version',
    input: doc`
Content-Type: multipart/mixed; boundary="B"

--B
Content-Type: text/cloud-config

#cloud-config
packages: [nginx]
--B--
`,
    expect: [[1, 'mime-header', 'error']],
  },
  {
    name: 'MIME without a boundary',
    input: doc`
MIME-Version: 1.0
Content-Type: multipart/mixed

--B
Content-Type: text/cloud-config

#cloud-config
packages: [nginx]
--B--
`,
    expect: [[2, 'mime-boundary', 'error']],
  },
  {
    name: 'MIME whose boundary never comes',
    input: doc`
Content-Type: multipart/mixed; boundary="==A=="
MIME-Version: 1.0

--==B==
Content-Type: text/x-shellscript

#!/bin/sh
true
--==B==--
`,
    expect: [[1, 'mime-boundary', 'error']],
  },
  {
    name: 'a MIME part of a kind nobody handles',
    input: doc`
Content-Type: multipart/mixed; boundary="B"
MIME-Version: 1.0

--B
Content-Type: text/cloud-confg

#cloud-config
packages: [nginx]
--B--
`,
    expect: [[5, 'mime-type', 'warning']],
  },
  {
    name: 'a mistake inside a MIME part',
    input: doc`
Content-Type: multipart/mixed; boundary="B"
MIME-Version: 1.0

--B
Content-Type: text/cloud-config

#cloud-config
runcmd:
  echo: hello
--B--
`,
    expect: [[8, 'wrong-shape', 'error']],
  },
  {
    name: 'base64 of a cloud-config',
    input: 'I2Nsb3VkLWNvbmZpZwpwYWNrYWdlczoKICAtIG5naW54Cg==\n',
    expect: [[1, 'base64', 'error']],
  },
  {
    name: 'a compressed document',
    input: bytes([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x53, 0x4e, 0xce, 0xc9]),
    expect: [[1, 'compressed', 'info']],
  },
  {
    name: 'a PowerShell script for cloudbase-init',
    input: '#ps1_sysnative\r\nWrite-Host hello\r\n',
    expect: [[1, 'not-cloud-init', 'info']],
  },
  {
    name: 'Ignition for Flatcar or CoreOS',
    input: '{\n  "ignition": { "version": "3.4.0" }\n}\n',
    expect: [[1, 'not-cloud-init', 'info']],
  },
  {
    name: 'a machine configuration of Talos',
    input: 'version: v1alpha1\nmachine:\n  type: worker\n',
    expect: [[1, 'not-cloud-init', 'info']],
  },
  {
    name: 'Latin-1 in a cloud-config',
    input: bytes('#cloud-config\nusers:\n  - name: ada\n    gecos: Zo', [0xeb], '\n'),
    expect: [[4, 'not-utf8', 'error']],
  },
  {
    name: 'a NUL byte',
    input: bytes('#cloud-config\nhostname: web', [0], '\n'),
    expect: [[2, 'control-character', 'error']],
  },
  {
    name: 'an escape character copied from a terminal',
    input: '#cloud-config\nfinal_message: "\x1b[32mdone"\n',
    expect: [[2, 'control-character', 'error']],
  },
  {
    name: 'more than is accepted',
    input: `#cloud-config\n${'# padding\n'.repeat(6600)}packages: [nginx]\n`,
    expect: [[1, 'too-large', 'error']],
  },
  {
    name: 'more than EC2 and others take',
    input: `#cloud-config\n${'# padding\n'.repeat(1700)}packages: [nginx]\n`,
    expect: [[1, 'large', 'info']],
  },
]
