"""Where the agent programs are installed, each in a folder of its own, and how they get there."""

import json
import os
import re
import subprocess
import sys
from glob import glob
from pathlib import Path

ROOT = Path(os.environ.get("REJOIN_E2E_DIR") or Path.home() / ".cache" / "rejoin-e2e")
NEWEST = "newest"  # the folder of the newest versions, below ROOT
NODE = "node22"  # the folder of the Node that the newer clients need

programs = ROOT  # the folder of the versions that are tried


def use_newest():
    """From now on, the newest versions are tried, and not the ones that were installed first."""
    global programs
    programs = ROOT / NEWEST


def name_of(package):
    """The name of a package without its version."""
    return re.split(r"(?<=.)@|[<=>]", package)[0]


def program(client):
    """Returns the path of an installed client, or None."""
    if client.node:
        own = f"{programs}/{client.name}/node_modules/{name_of(client.package)}/bin/{client.program}"
        places = [f"{programs}/{client.name}/node_modules/.bin/{client.program}", own]
    else:
        places = [f"{programs}/{client.name}/bin/{client.program}"]
    return next((Path(place) for place in places if os.access(place, os.X_OK)), None)


def version(client):
    if client.node:
        manifest = programs / client.name / "node_modules" / name_of(client.package) / "package.json"
        return json.loads(manifest.read_text())["version"]
    folders = (Path(one).stem.rsplit("-", 1) for one in glob(f"{programs}/{client.name}/lib/python*/site-packages/*.dist-info"))
    found = (one for name, one in folders if name.replace("_", "-").lower() == name_of(client.package).lower())
    return next(found, "unknown")


def path():
    """The PATH of everything that is started: the newer Node first, then the system's own."""
    return f"{ROOT}/{NODE}/node_modules/.bin:{programs}/omp/node_modules/.bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def npm(folder, packages):
    """Installs packages. A dependency that the registry does not serve becomes an empty package: a program that was bundled
    runs without it."""
    stub = folder / "not-served"
    stub.mkdir(parents=True, exist_ok=True)
    (stub / "package.json").write_text('{"name":"not-served","version":"0.0.0"}\n')
    missing = {}
    while True:
        (folder / "package.json").write_text(json.dumps({"private": True, "overrides": missing}) + "\n")
        try:
            return run(["npm", "install", "--no-audit", "--no-fund", *packages], folder)
        except RuntimeError:
            log = (folder / "install.log").read_text()
            found = re.search(r"'((?:@[^/@' ]+/)?[^/@' ]+)@[^']*' (?:is not in this registry|could not be found)"
                              r"|No matching version found for ((?:@[^/@ ]+/)?[^/@ ]+)@", log)
            name = found and (found[1] or found[2])
            if not name or name in missing or name in map(name_of, packages) or len(missing) == 40:
                raise
            missing[name] = "file:not-served"


def lacking(client):
    """Returns the dependencies of a client in whose place an empty package is."""
    manifest = programs / client.name / "package.json"
    return sorted(json.loads(manifest.read_text()).get("overrides", {})) if client.node and manifest.exists() else []


def run(command, folder):
    """Runs a command, and returns what it prints; its errors and notes are in the log."""
    environment = os.environ | {"PATH": f"{ROOT}/{NODE}/node_modules/.bin:{os.environ['PATH']}"}
    with open(folder / "install.log", "w") as log:
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
                              timeout=900)
        log.write(done.stdout)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} failed; see {folder / 'install.log'}")
    return done.stdout


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
        install_node()
        npm(programs / client.name, [*client.besides, client.package])
    else:
        pip(client, client.package)
    if not program(client):
        raise RuntimeError(f"{client.package} has no program {client.program}")


def install_newest(client):
    """Installs the newest version that the registry of a client has, unless it is there; raises what went wrong."""
    name = name_of(client.package)
    if client.node:
        folder = programs / client.name
        folder.mkdir(parents=True, exist_ok=True)
        newest = newest_of(name, folder)
        if program(client) and version(client) == newest:
            return
        install_node()
        npm(folder, [*client.besides, f"{name}@{newest}"])
    else:
        pip(client, name, "--upgrade")
        folder = programs / client.name
        newest = re.search(r"\(([^)]*)\)", run([folder / "bin" / "pip", "index", "versions", name], folder))
        if newest and newest[1] != version(client):
            raise RuntimeError(f"pip cannot install {newest[1]} with what the registry serves")
    if not program(client):
        raise RuntimeError(f"{name} has no program {client.program}")


def newest_of(name, folder):
    """Returns the newest version of a package of npm."""
    return json.loads(run(["npm", "view", name, "version", "--json"], folder))


def install_node():
    if not (ROOT / NODE / "node_modules").exists():
        npm(ROOT / NODE, ["node@22"])


def pip(client, package, *more):
    folder = programs / client.name
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "bin" / "pip").exists():
        run([python(client.python), "-m", "venv", folder], folder)
    run([folder / "bin" / "pip", "install", "--quiet", "--no-compile", *more, package], folder)
