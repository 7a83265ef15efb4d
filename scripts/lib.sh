# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What scripts/demo and scripts/check share.  Sourced, from the top of the tree.

# The packages of these purposes that are neither installed nor made unnecessary.
missing_packages() {
	while read -r purpose package command; do
		case " $* " in *" $purpose "*) ;; *) continue ;; esac
		if [ -n "$command" ] && command -v "$command" >/dev/null; then continue; fi
		is_installed "$package" || echo "$package"
	done <scripts/packages
}

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# install_packages PURPOSE...: what is missing, as root or through sudo; or says how.
install_packages() {
	if ! command -v apt-get >/dev/null; then
		echo "No apt-get here: what scripts/packages lists has to be there already."
		return 0
	fi
	missing=$(missing_packages "$@" | tr '\n' ' ')
	[ -n "$missing" ] || return 0

	if [ "$(id -u)" = 0 ]; then
		as_root=
	elif may_sudo; then
		as_root=sudo
	else
		echo "Some packages are missing, and installing them takes root. Run this, then again:"
		echo
		echo "    su -c 'apt-get update && apt-get install -y --no-install-recommends ${missing% }'"
		return 1
	fi
	echo "Installing: ${missing% }"
	# shellcheck disable=SC2086 # words and an empty prefix are meant
	$as_root apt-get update -q && $as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -q --no-install-recommends $missing
}

# With a terminal sudo may ask for the password.
may_sudo() {
	command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }
}

now() {
	date +%s.%N
}

seconds_since() {
	awk -v start="$1" -v end="$(now)" 'BEGIN { printf "%.1f", end - start }'
}
