#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# models/profiles/profiles.inc is what models/profiles/list.py makes of models/profiles/.
made=$(mktemp)
trap 'rm -f "$made"' EXIT
python3 "$ROOT/models/profiles/list.py" "$made" "$ROOT"/models/profiles/*.yaml "$ROOT"/models/profiles/machines/*.yaml
cmp "$made" "$ROOT/models/profiles/profiles.inc"
