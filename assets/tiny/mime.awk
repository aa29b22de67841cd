# Splits a MIME multipart file: writes each part to PREFIX<n> and prints "<file> <type> <encoding>" for it.
function field(line) { sub(/^[^:]*:[ \t]*/, "", line); sub(/\r$/, "", line); return line }

BEGIN { state = "head"; n = 0 }

state == "head" || state == "part-head" {
  sub(/\r$/, "")
  if (state == "head" && match($0, /boundary=/)) {
    boundary = substr($0, RSTART + 9)
    sub(/;.*$/, "", boundary)
    gsub(/"/, "", boundary)
  }
  if (state == "part-head" && tolower($0) ~ /^content-type:/) { type = tolower(field($0)); sub(/[; \t].*$/, "", type) }
  if (state == "part-head" && tolower($0) ~ /^content-transfer-encoding:/) encoding = tolower(field($0))
  if ($0 == "") {
    if (state == "head") { if (boundary == "") exit; state = "between" }
    else {
      state = "body"
      file = prefix (++n)
      printf "" >file
      print file, (type == "" ? "text/plain" : type), (encoding == "" ? "7bit" : encoding)
    }
  }
  next
}

{
  line = $0
  sub(/\r$/, "", line)
  if (line == "--" boundary || line == "--" boundary "--") {
    if (file != "") close(file)
    if (line == "--" boundary "--") exit
    state = "part-head"; type = ""; encoding = ""
    next
  }
  if (state == "body") print $0 >file
}
