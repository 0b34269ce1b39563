#!/usr/bin/env bash
# A RUSTC_WRAPPER that notes the processor seconds of each crate in a file of the folder $RATCHET_SECONDS.
TIMEFORMAT='%U %S'
exec {messages}>&2
{ time "$@" 2>&"$messages" {messages}>&-; } 2> "$RATCHET_SECONDS/$$"
status=$?
crate=$(sed -n 's/.* --crate-name \([^ ]*\) .*/\1/p' <<< "$* ")
if [ -n "$crate" ]; then sed -i "s/$/ $crate/" "$RATCHET_SECONDS/$$"; else rm "$RATCHET_SECONDS/$$"; fi
exit "$status"
