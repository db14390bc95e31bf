"""Where the agent programs are installed, each in a folder of its own, and how they get there."""

import json
import os
import re
import subprocess
import sys
from glob import glob
from pathlib import Path

ROOT = Path(os.environ.get("REJOIN_E2E_DIR") or Path.home() / ".cache" / "rejoin-e2e")
NODE = "node22"  # the folder of the Node that the newer clients need


def name_of(package):
    """The name of a package without its version."""
    return re.split(r"(?<=.)@|[<=>]", package)[0]


def program(client):
    """Returns the path of an installed client, or None."""
    if client.node:
        own = f"{ROOT}/{client.name}/node_modules/{name_of(client.package)}/bin/{client.program}"
        places = [f"{ROOT}/{client.name}/node_modules/.bin/{client.program}", own]
    else:
        places = [f"{ROOT}/{client.name}/bin/{client.program}"]
    return next((Path(place) for place in places if os.access(place, os.X_OK)), None)


def version(client):
    if client.node:
        manifest = ROOT / client.name / "node_modules" / name_of(client.package) / "package.json"
        return json.loads(manifest.read_text())["version"]
    folders = (Path(one).stem.rsplit("-", 1) for one in glob(f"{ROOT}/{client.name}/lib/python*/site-packages/*.dist-info"))
    found = (one for name, one in folders if name.replace("_", "-").lower() == name_of(client.package).lower())
    return next(found, "unknown")


def path():
    """The PATH of everything that is started: the newer Node first, then the system's own."""
    return f"{ROOT}/{NODE}/node_modules/.bin:{ROOT}/omp/node_modules/.bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def npm(name, packages):
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private":true}\n')
    run(["npm", "install", "--no-audit", "--no-fund", *packages], folder)


def run(command, folder):
    environment = os.environ | {"PATH": f"{ROOT}/{NODE}/node_modules/.bin:{os.environ['PATH']}"}
    with open(folder / "install.log", "w") as log:
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=900)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} failed; see {folder / 'install.log'}")


def python(least):
    """Returns a Python of the wanted version or a later one."""
    found = [sys.executable, *glob(f"{os.environ.get('PYENV_ROOT', Path.home() / '.pyenv')}/versions/{least}*/bin/python3")]
    found += [f"/usr/bin/python{least}", f"/usr/local/bin/python{least}"]
    check = f"import sys, venv; sys.exit(sys.version_info < ({least.replace('.', ',') or '3'},))"
    for one in found:
        if os.access(one, os.X_OK) and subprocess.run([one, "-c", check], capture_output=True).returncode == 0:
            return one
    raise RuntimeError(f"there is no Python {least} here")


def install(client):
    """Installs a client that is missing; raises what went wrong."""
    if program(client):
        return
    if client.node:
        if not (ROOT / NODE / "node_modules").exists():
            npm(NODE, ["node@22"])
        npm(client.name, [*client.besides, client.package])
    else:
        folder = ROOT / client.name
        folder.mkdir(parents=True, exist_ok=True)
        run([python(client.python), "-m", "venv", folder], folder)
        run([folder / "bin" / "pip", "install", "--quiet", client.package], folder)
    if not program(client):
        raise RuntimeError(f"{client.package} has no program {client.program}")
