# Reads the plain part of cloud-config this guest understands: hostname, ssh_authorized_keys (anywhere), ssh_keys, runcmd;
# of meta-data local-hostname and public-keys. Block style YAML with plain, quoted, literal (|) and one-line [a, b] values.
# Variables: out (folder), source (meta|vendor|user).
function trim(s) { gsub(/^[ \t]+|[ \t\r]+$/, "", s); return s }

function unescape(s,    r, i, c) {
  r = ""
  for (i = 1; i <= length(s); i++) {
    c = substr(s, i, 1)
    if (c == "\\") {
      c = substr(s, ++i, 1)
      if (c == "n") c = "\n"
      else if (c == "t") c = "\t"
    }
    r = r c
  }
  return r
}

function scalar(s) {
  s = trim(s)
  if (s ~ /^".*"$/) return unescape(substr(s, 2, length(s) - 2))
  if (s ~ /^'.*'$/) { s = substr(s, 2, length(s) - 2); gsub(/''/, "'", s); return s }
  sub(/[ \t]+#.*$/, "", s)
  return s
}

function shell_quote(s) { gsub(/'/, "'\\''", s); return "'" s "'" }

# [a, "b c", 'd'] as quoted shell words
function words(s,    r, i, c, q, item, had) {
  s = substr(s, 2, length(s) - 2)
  r = ""; item = ""; q = ""; had = 0
  for (i = 1; i <= length(s); i++) {
    c = substr(s, i, 1)
    if (q != "") {
      if (q == "\"" && c == "\\") { item = item c substr(s, ++i, 1); continue }
      item = item c
      if (c == q) q = ""
    } else if (c == "," ) { r = r shell_quote(scalar(item)) " "; item = "" }
    else { if ((c == "\"" || c == "'") && trim(item) == "") q = c; item = item c }
  }
  if (trim(item) != "") r = r shell_quote(scalar(item))
  return trim(r)
}

function put(name, text) {
  if (name == "") return
  if (name == "authorized_keys" && text !~ /^[a-z0-9@.-]+ [A-Za-z0-9+\/=]+/) return
  sub(/\n+$/, "", text)
  print text >>(out "/" name)
}

function target(key) {
  if ((key == "hostname" || key == "local-hostname") && indent == 0) return "hostname"
  if (top == "ssh_keys" && key == "ed25519_private") return "host_key"
  if (top == "ssh_keys" && key == "ed25519_certificate") return "host_key-cert.pub"
  return ""
}

function value(name, v) {
  v = trim(v)
  if (v ~ /^[|>][-+]?$/) { block = name == "" ? "-" : name; block_indent = -1; block_text = ""; return }
  if (v == "") return
  if (name == "hostname") { printf "" >(out "/hostname"); close(out "/hostname") }
  if (name ~ /runcmd$/ && v ~ /^\[.*\]$/) put(name, words(v))
  else put(name, scalar(v))
}

function end_block() { if (block != "" && block != "-") put(block, block_text); block = "" }

{
  line = $0
  sub(/\r$/, "", line)
  match(line, /^ */)
  indent = RLENGTH
  if (block != "") {
    if (trim(line) == "") { block_text = block_text "\n"; next }
    if (block_indent < 0 && indent > key_indent) block_indent = indent
    if (block_indent >= 0 && indent >= block_indent) { block_text = block_text substr(line, block_indent + 1) "\n"; next }
    end_block()
  }
  if (line ~ /^[ \t]*(#|$)/) next
}

/^[A-Za-z_][A-Za-z0-9_-]*:/ {
  top = line; sub(/:.*/, "", top)
  if (source != "meta" && top !~ /^(hostname|ssh_authorized_keys|ssh_keys|runcmd|users)$/) print source ": " top " is not understood by this guest" >>(out "/ignored")
}

match(line, /^ *(- +)?[A-Za-z_][A-Za-z0-9_-]*:( |$)/) && !(list == "runcmd" && indent >= list_indent && line ~ /^ *- /) {
  key = line; sub(/^ *(- +)?/, "", key); rest = key
  sub(/:.*/, "", key); sub(/^[^:]*:/, "", rest)
  key_indent = indent
  list = ""
  if (key == "ssh_authorized_keys" || key == "public-keys") { list = "authorized_keys"; list_indent = indent }
  else if (key == "runcmd" && indent == 0) { list = "runcmd"; list_indent = indent }
  else value(target(key), rest)
  next
}

list != "" && indent >= list_indent && line ~ /^ *- / {
  item = line; sub(/^ *- +/, "", item)
  key_indent = indent
  value(list == "runcmd" ? source ".runcmd" : list, item)
}

END { end_block() }
