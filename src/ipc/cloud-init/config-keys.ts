/**
 * What a value may be, alternatives apart by `|`: text, truth, whole, list, map, nothing, any.
 * `!` in front: the module fails on anything else, and nothing of it is done.
 */
export type Shape = string

const keys = (shape: Shape, names: string): Record<string, Shape> =>
  Object.fromEntries(names.split(/\s+/).map((name) => [name, shape]))

/** Keys at the top of a cloud-config, cloud-init 22.4 to 26.2, with those older releases had. */
export const TOP_KEYS: Readonly<Record<string, Shape>> = {
  ...keys('any', 'apt_pipelining locale merge_how merge_type version groups migrate random_seed reporting output'),
  ...keys(
    'any',
    'manual_cache_clean datasource datasource_list system_info ca-certs resize_rootfs manage_etc_hosts ssh_pwauth',
  ),
  ...keys(
    'any',
    'preserve_sources_list def_log_file log_cfgs syslog_fix_perms instance-id vendor_data2 package_config',
  ),
  ...keys(
    'text',
    `authkey_hash byobu_by_default disable_root_opts final_message fqdn hostname locale_configfile password timezone
     yum_repo_dir apt_mirror apt_proxy`,
  ),
  ...keys(
    'truth',
    `allow_public_ssh_keys apt_reboot_if_required apt_update apt_upgrade create_hostname_file disable_ec2_metadata
     disable_root manage_resolv_conf no_ssh_fingerprints package_reboot_if_required package_update package_upgrade
     prefer_fqdn_over_hostname preserve_hostname ssh_deletekeys ssh_quiet_keygen`,
  ),
  ...keys(
    'map',
    `ansible apk_repos autoinstall ca_certs chef device_aliases drivers fan growpart grub-dpkg grub_dpkg keyboard
     landscape lxd mcollective phone_home puppet resolv_conf rh_subscription rpi salt_minion snap spacewalk ssh
     ssh_keys ssh_publish_hostkeys swap ubuntu_advantage ubuntu-advantage ubuntu_pro updates yum_repos zypper
     vendor_data rsyslog`,
  ),
  ...keys('!map', 'apt chpasswd disk_setup power_state'),
  ...keys('map|nothing', 'ntp wireguard'),
  ...keys('list', 'mount_default_fields packages ssh_fp_console_blacklist ssh_genkeytypes ssh_import_id'),
  ...keys('list', 'ssh_key_console_blacklist apt_sources'),
  ...keys('any', 'cloud_init_modules cloud_config_modules cloud_final_modules'),
  ...keys('!list', 'bootcmd fs_setup mounts runcmd ssh_authorized_keys write_files'),
  user: 'text|map',
  users: '!list|map|text',
  'launch-index': 'whole',
}

/** Keys of one file of write_files. `permissions` and `content` are looked at on their own. */
export const FILE_KEYS: Readonly<Record<string, Shape>> = {
  ...keys('text', 'path owner encoding'),
  ...keys('truth', 'append defer'),
  ...keys('any', 'permissions content'),
  source: 'map',
}

const both = (shape: Shape, names: string) => ({ ...keys(shape, names), ...keys(shape, names.replaceAll('_', '-')) })

/** Keys of one user. */
export const USER_KEYS: Readonly<Record<string, Shape>> = {
  ...both('text', 'name expiredate gecos homedir inactive passwd hashed_passwd plain_text_passwd primary_group'),
  ...both('text', 'selinux_user shell snapuser'),
  ...both('truth', 'lock_passwd no_create_home no_log_init no_user_group create_groups ssh_redirect_user system'),
  ...both('list|text|map', 'groups'),
  ...both('list|text', 'ssh_authorized_keys ssh_import_id'),
  ...both('any', 'doas sudo uid'),
}

/** Keys of maps whose inside is looked at. */
export const MAP_KEYS: Readonly<Record<string, Readonly<Record<string, Shape>>>> = {
  chpasswd: { expire: 'truth', users: 'list', list: 'any' },
  growpart: { mode: 'any', devices: 'list', ignore_growroot_disabled: 'truth' },
  ntp: {
    ...keys('list', 'pools servers peers allow'),
    ntp_client: 'text',
    enabled: 'truth',
    config: 'map',
  },
  power_state: { ...keys('any', 'delay timeout condition'), ...keys('text', 'mode message') },
  swap: { filename: 'text', size: 'any', maxsize: 'any' },
  vendor_data: { enabled: 'any', prefix: 'any' },
}

/** Keys people take for others, beside slips of the keyboard. */
export const MEANT: Readonly<Record<string, string>> = {
  commands: 'runcmd',
  cmd: 'runcmd',
  run: 'runcmd',
  script: 'runcmd',
  files: 'write_files',
  file: 'write_files',
  pkgs: 'packages',
  install: 'packages',
  update: 'package_update',
  upgrade: 'package_upgrade',
  tz: 'timezone',
  time_zone: 'timezone',
  host_name: 'hostname',
  authorized_keys: 'ssh_authorized_keys',
  ssh_keys: 'ssh_authorized_keys',
  ssh_key: 'ssh_authorized_keys',
  mode: 'permissions',
  perms: 'permissions',
  contents: 'content',
  data: 'content',
  username: 'name',
  home: 'homedir',
  password: 'plain_text_passwd',
  lock_password: 'lock_passwd',
  uses: 'users',
}

/** First levels of network configuration, which is a document of its own. */
export const NETWORK_KEYS: ReadonlySet<string> = new Set(
  'network ethernets bonds bridges vlans wifis renderer'.split(' '),
)

/** Names cloud-init gives to templates under `v1`. */
export const V1_NAMES: readonly string[] =
  `availability_zone cloud_id cloud_name distro distro_release distro_version instance_id kernel_release local_hostname
   machine platform public_ssh_keys python_version region subplatform system_platform userdata variant`.split(/\s+/)

/** Kinds of parts of a MIME document that something in cloud-init handles. */
export const PART_TYPES: readonly string[] =
  `text/cloud-config text/x-shellscript text/cloud-boothook text/jinja2 text/x-include-url text/x-include-once-url
   text/part-handler text/cloud-config-archive text/cloud-config-jsonp text/x-shellscript-per-boot
   text/x-shellscript-per-instance text/x-shellscript-per-once text/plain text/x-not-multipart text/upstart-job
   application/gzip application/x-gzip application/x-compress application/octet-stream`.split(/\s+/)
