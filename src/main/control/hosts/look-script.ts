/**
 * Looks at a host without changing anything: one POSIX sh script, `key=value` lines. Every line is optional to the reader;
 * a program that is missing leaves its line empty.
 */
export const LOOK_SCRIPT = `
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin"
has() { command -v "$1" >/dev/null 2>&1; }
say() { printf '%s=%s\\n' "$1" "$2"; }
say platform "$(uname -s)"
say machine "$(uname -m)"
say kernel "$(uname -r)"
say hostname "$(uname -n)"
say user "$(id -un)"
say uid "$(id -u)"
say home "$HOME"
say groups "$(id -Gn 2>/dev/null)"
if [ -r /etc/os-release ]; then
  say os "$(. /etc/os-release; printf '%s' "$PRETTY_NAME")"
  say os_id "$(. /etc/os-release; printf '%s' "$ID")"
fi
if has getconf; then say glibc "$(getconf GNU_LIBC_VERSION 2>/dev/null)"; fi
for f in /lib/ld-musl-*.so.1; do [ -e "$f" ] && say musl "$f"; done
if [ -d /run/systemd/system ]; then say init systemd
elif [ -d /run/openrc ] || has rc-service; then say init openrc
else say init none; fi
if [ -e /dev/kvm ]; then
  if [ -r /dev/kvm ] && [ -w /dev/kvm ]; then say kvm usable; else say kvm denied; fi
else say kvm absent; fi
say vmx "$(grep -c -E -m1 '^flags.*(vmx|svm)' /proc/cpuinfo 2>/dev/null)"
for p in "qemu-system-$(uname -m)" /usr/libexec/qemu-kvm; do has "$p" && { say qemu "$p"; break; }; done
has qemu-img && say qemu_img yes
for p in apt-get dnf yum zypper pacman apk; do has "$p" && { say packages "$p"; break; }; done
for p in gunzip gzip sha256sum cat; do has "$p" && say "has_$p" yes; done
if [ "$(id -u)" = 0 ]; then say sudo root
elif has sudo; then if sudo -n true 2>/dev/null; then say sudo free; else say sudo password; fi
else say sudo none; fi
has doas && say doas yes
free() { kib=$(df -Pk "$1" 2>/dev/null | awk 'END { print $4 }'); [ -n "$kib" ] && echo $((kib * 1024)); }
say home_free "$(free "$HOME")"
say system_free "$(free /usr/local)"
[ -w "$HOME" ] && say home_writable yes
if has node; then say node "$(node --version 2>/dev/null)"; fi
filled() { [ -d "$1" ] && { [ ! -r "$1" ] || [ -n "$(ls -A "$1")" ]; }; }
filled /var/lib/eitri && say root_state yes
filled "$HOME/.local/state/eitri" && say user_state yes
[ "$(id -u)" = 0 ] && s=/run/eitri/agent.sock || s=$HOME/.local/state/eitri/run/agent.sock
for p in /usr/local/bin/eitri-agent "$HOME/.local/bin/eitri-agent"; do
  [ -x "$p" ] && { say agent "$p"; say agent_status "$("$p" status --json --socket "$s" 2>/dev/null | tr -d '\\n')"; break; }
done
true
`
