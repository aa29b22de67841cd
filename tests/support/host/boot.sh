#!/bin/bash
# First process of a test host: runs in fresh mount, PID, UTS, IPC and network namespaces and builds another machine there.
# Arguments: private directory, hostname, address/prefix, gateway, directory to hide, sshd options file.
# Reads "go" from stdin once eth0 is in place; ends, and everything in the PID namespace with it, when stdin closes.
set -euo pipefail
dir=$1 name=$2 address=$3 gateway=$4 hide=$5 variant=$6

mount --make-rprivate /
mount -t tmpfs -o mode=0755,size=16g eitri-host "$dir/root"
mkdir "$dir/root"/{upper,work,merged}
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/root/upper,workdir=$dir/root/work" "$dir/root/merged"
root=$dir/root/merged

mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
for empty in tmp run root home var/lib/eitri usr/local/lib/eitri; do
  mkdir -p "$root/$empty"
  mount -t tmpfs -o mode=0755,size=16g tmpfs "$root/$empty"
done
chmod 1777 "$root/tmp"
chmod 0700 "$root/root"
mkdir -p "$root/run/sshd" "$root/run/lock"
if [ -d "$root$hide" ]; then mount -t tmpfs -o mode=0755,size=16m tmpfs "$root$hide"; fi

mount -t tmpfs -o mode=0755,size=64k tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/net"
for node in null zero full random urandom tty kvm net/tun; do
  if [ -e "/dev/$node" ]; then
    : >"$root/dev/$node"
    mount --bind "/dev/$node" "$root/dev/$node"
  fi
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777,size=1g tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"

hostname "$name"
echo "$name" >"$root/etc/hostname"
printf '127.0.0.1 localhost\n%s %s\n' "${address%/*}" "$name" >"$root/etc/hosts"
rm -f "$root/etc/resolv.conf" "$root"/etc/ssh/ssh_host_* "$root/usr/local/bin/eitri-agent"
cp "$dir/authorized_keys" "$dir/passwords" "$variant" "$root/run/"

mkdir "$root/run/old"
cd "$root"
pivot_root . run/old
umount -l /run/old
rmdir /run/old

for user in dev ops; do
  if ! id "$user" >/dev/null 2>&1; then useradd -m -s /bin/bash "$user"; fi
done
usermod -aG sudo ops
echo 'Defaults env_keep += "EITRI_GUEST_NETWORK"' >/etc/sudoers.d/eitri-test
chmod 0440 /etc/sudoers.d/eitri-test
chpasswd -c SHA256 -s 1000 </run/passwords
rm /run/passwords
for home in /root /home/dev /home/ops; do
  mkdir -p "$home/.ssh"
  cp /run/authorized_keys "$home/.ssh/authorized_keys"
  chmod 0700 "$home/.ssh"
  chmod 0600 "$home/.ssh/authorized_keys"
  chown -R --reference="$home" "$home/.ssh"
done
rm /run/authorized_keys
ssh-keygen -q -t ed25519 -N '' -C '' -f /etc/ssh/rig_host_key

read -r go
[ "$go" = go ]
ip link set lo up
ip addr add "$address" dev eth0
ip link set eth0 up
ip route add default via "$gateway"
/usr/sbin/sshd -f "/run/$(basename "$variant")" -E /run/sshd.log </dev/null
echo ready
while read -r _; do :; done
