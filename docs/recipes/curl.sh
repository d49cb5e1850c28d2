#!/bin/sh
# Asks one question and waits for the answer. It may be stopped and started again at any point:
# the same key finds the same ask, so nobody is asked twice.
set -eu
url=${ANSWERBACK_URL:-http://127.0.0.1:8420}
key=${1:-port-of-the-new-service}
ask=$(mktemp)
trap 'rm -f "$ask"' EXIT

ask_and_wait() {
  curl --silent --show-error --output "$ask" --write-out '%{http_code}' "$url/v1/asks" \
    -H "Authorization: Bearer ${ANSWERBACK_TOKEN:-}" \
    -H 'Content-Type: application/json' \
    -H "Idempotency-Key: $key" \
    -H 'Prefer: wait=60' \
    -d '{"name": "ask_user",
         "arguments": {"question": "Which port should the service use?"},
         "to": "web"}'
}

failures=0
while status=$(ask_and_wait || true); do
  case $status in
    200) break ;;                   # it has ended
    202) failures=0 ;;              # still open: keep waiting
    4*)  cat "$ask" >&2; exit 1 ;;  # refused: the body says why
    *)   failures=$((failures + 1)) # away or restarting: curl has printed why
         [ "$failures" -lt "${PATIENCE:-600}" ] || exit 1
         sleep 1 ;;
  esac
done
cat "$ask"
