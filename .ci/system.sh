#!/bin/sh
# Instala los paquetes de Debian que faltan, donde se puede; donde no, dice cuáles son y sigue.
set -u
missing=""
for package in "$@"; do
    dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
if command -v apt-get >/dev/null; then
    if [ "$(id -u)" -eq 0 ]; then sudo=""; else sudo="sudo -n"; fi
    if [ -z "$sudo" ] || $sudo true 2>/dev/null; then
        export DEBIAN_FRONTEND=noninteractive
        $sudo apt-get update -qq >/dev/null
        # Ubuntu no tiene todos los de Debian, y uno que no conozca detendría a los demás.
        known="" unknown=""
        for package in $missing; do
            if apt-cache show "$package" >/dev/null 2>&1; then known="$known $package"; else unknown="$unknown $package"; fi
        done
        [ -z "$known" ] || $sudo apt-get install -y -qq $known >/dev/null && missing="$unknown"
        [ -z "$missing" ] && exit 0
    fi
fi
echo "Faltan paquetes y no se pueden instalar desde aquí:$missing"
echo "Las pruebas que los necesitan se omitirán (chromium-headless-shell solo ahorra tiempo). En Debian o Ubuntu: sudo apt-get install$missing"
