/** Where the two programs below find this process: a folder of mode 0700. */
export const ASK_DIR_VARIABLE = 'EITRI_SSH_ASK'

/** Every line of an answer starts so; the last one is `yes` or `no`. */
export const ANSWER_MARK = '='

/**
 * What ssh runs to ask: as SSH_ASKPASS with a prompt, as KnownHostsCommand with a host key. It lays the question down in a
 * folder of its own and reads the answer from a pipe beside it, so that a secret is never in an argument, in the
 * environment or on a disk. After `--` stands a KnownHostsCommand of the person's own; its lines count too.
 */
export const ASK_PROGRAM = `#!/bin/sh
umask 077
case $1 in host-key) ;; *) set -- "prompt" "\${SSH_ASKPASS_PROMPT-}" "$1" ;; esac
place=$(mktemp -d "$${ASK_DIR_VARIABLE}/.q.XXXXXXXX") || exit 1
printf '%s\\0' "$@" >"$place/asked" && mkfifo "$place/answer" || exit 1
question=$${ASK_DIR_VARIABLE}/q.\${place##*.}
mv "$place" "$question" || exit 1
[ "$1 $2" != 'prompt none' ] || exit 0
said=no
while IFS= read -r line; do
  case $line in
    ${ANSWER_MARK}*) printf '%s\\n' "\${line#${ANSWER_MARK}}" ;;
    yes | no) said=$line; break ;;
  esac
done <"$question/answer"
rm -rf "$question"
[ "$said" = yes ] || exit 1
[ "$1" = host-key ] || exit 0
while [ $# -gt 0 ]; do
  if [ "$1" = -- ]; then shift; "$@"; exit 0; fi
  shift
done
`

/** Runs a program that ends, and all it started with it, when whoever holds this one's input is gone. */
export const HELD_PROGRAM = `#!/bin/sh
exec 3<&0 </dev/null
"$@" 3<&- &
held=$!
(while IFS= read -r _; do :; done <&3; kill -TERM 0) >/dev/null 2>&1 &
exec 3<&-
wait "$held"
exit $?
`
