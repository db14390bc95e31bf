//! Finds the package of an installed program. Only files are read; the program is never run.
//!
//! Evidence, as npm 11.19, pip 24.2 and uv 0.13.9 leave it: the `bin` of a package.json above the program, to which a
//! link leads; for Python, the module that a console script imports, and that module's `dist-info` in
//! `lib/python3.x/site-packages` below the parent of the script's directory.

use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::system::env::{Env, ProgramSearch};
use crate::system::{fsio, reach};

/// Maximum size of a package.json in bytes.
const MAX_MANIFEST: u64 = 1024 * 1024;
/// Number of bytes at the start of a script that are searched for imports.
const MAX_SCRIPT: u64 = 16 * 1024;
/// Maximum number of directories between a program and its package.json.
const MAX_DEPTH: usize = 6;

/// The registry that a package comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackageRegistry {
    Npm,
    PyPi,
}

/// A package, as its own files name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) registry: PackageRegistry,
    /// Its name; for Python, `-` is replaced by `_`.
    pub(crate) name: String,
    pub(crate) version: String,
}

impl Package {
    /// Finds the package of the program that a shell would start by a name; `None` if its files do not show one.
    pub(crate) fn find_on_path(program: &str, env: &Env) -> Option<Self> {
        let ProgramSearch::Found(path) = env.find_program(program) else { return None };
        let real = reach::canonicalize(&path).ok()?;
        npm(&real, program).or_else(|| {
            let script = beginning(&real)?;
            // pnpm starts programs through a generated script that names the real one.
            let shim = script.split("\"$basedir/").skip(1).filter_map(|rest| rest.split('"').next());
            let mut targets = shim.filter_map(|target| reach::canonicalize(&path.parent()?.join(target)).ok());
            targets.find_map(|target| npm(&target, program)).or_else(|| python(&real, &script))
        })
    }

    /// Returns whether the package has this name, in any version.
    pub(crate) fn has_name(&self, registry: PackageRegistry, name: &str) -> bool {
        self.registry == registry && self.name == name
    }

    /// Returns whether the package's version is at least this one; `None` if the version does not consist of numbers.
    pub(crate) fn is_at_least<const N: usize>(&self, least: [u64; N]) -> Option<bool> {
        is_at_least(&self.version, least)
    }
}

/// Returns whether a version is at least this one; `None` if it does not consist of numbers.
pub(crate) fn is_at_least<const N: usize>(version: &str, least: [u64; N]) -> Option<bool> {
    // Text after the numbers marks a version before or after a release.
    let numbers = version.split(['.', '-', '+']).map(|number| number.parse::<u64>().ok());
    let version: Vec<u64> = numbers.take(N).collect::<Option<_>>()?;
    (version.len() == N).then(|| version.as_slice() >= least.as_slice())
}

/// Returns the version in the name of the file to which the link of an installer leads, such as `grok-1.0.41`.
pub(crate) fn version_in_name(program: &str, env: &Env) -> Option<String> {
    let ProgramSearch::Found(path) = env.find_program(program) else { return None };
    let real = reach::canonicalize(&path).ok()?;
    Some(real.file_name()?.to_str()?.strip_prefix(program)?.strip_prefix('-')?.to_owned())
}

/// Finds the npm package whose manifest declares this file as the program.
fn npm(real: &Path, program: &str) -> Option<Package> {
    #[derive(Deserialize)]
    struct PackageJson {
        name: String,
        version: String,
        bin: Value,
    }
    real.ancestors().skip(1).take(MAX_DEPTH).find_map(|dir| {
        let bytes = fsio::read_if_present(&dir.join("package.json"), MAX_MANIFEST).ok()??;
        let manifest: PackageJson = serde_json::from_slice(&bytes).ok()?;
        let bin = manifest.bin.as_str().or_else(|| manifest.bin.get(program)?.as_str())?;
        let is_its = reach::canonicalize(&dir.join(bin)).is_ok_and(|bin| bin == real);
        is_its.then_some(Package { registry: PackageRegistry::Npm, name: manifest.name, version: manifest.version })
    })
}

/// Finds the Python package that a console script imports.
fn python(real: &Path, script: &str) -> Option<Package> {
    let module = script.lines().find_map(|line| {
        let rest = line.strip_prefix("from ")?;
        rest.split(['.', ' ']).next().filter(|module| !module.is_empty() && !module.contains('/'))
    })?;
    let lib = real.parent()?.parent()?.join("lib");
    let pythons = names(&lib).into_iter().filter(|name| name.starts_with("python"));
    let folders =
        pythons.flat_map(|python| ["site-packages", "dist-packages"].map(|name| lib.join(&python).join(name)));
    let mut versions: Vec<String> = folders.flat_map(|folder| versions_in(&folder, module)).collect();
    versions.sort();
    versions.dedup();
    // Two versions of Python may each have another version of the package, and the script does not show which one is
    // used.
    let version = versions.pop().filter(|_| versions.is_empty())?;
    Some(Package { registry: PackageRegistry::PyPi, name: module.to_owned(), version })
}

fn versions_in(folder: &Path, module: &str) -> Vec<String> {
    let version = |name: String| {
        let rest = name.strip_suffix(".dist-info")?.strip_prefix(module)?;
        rest.strip_prefix('-').map(str::to_owned)
    };
    names(folder).into_iter().filter_map(version).collect()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = reach::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Reads the start of a script; `None` if the file is not a script.
fn beginning(real: &Path) -> Option<String> {
    let (file, _) = fsio::open_regular(real).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_SCRIPT).read_to_end(&mut bytes).ok()?;
    bytes.starts_with(b"#!").then(|| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_orders_versions_by_number() {
        let is_at_least = |version: &str, major, minor| {
            let version = version.to_owned();
            Package { registry: PackageRegistry::Npm, name: "x".to_owned(), version }.is_at_least([major, minor])
        };
        assert_eq!(is_at_least("1.29.0", 1, 29), Some(true));
        assert_eq!(is_at_least("1.28.1", 1, 29), Some(false));
        assert_eq!(is_at_least("1.100.0", 1, 29), Some(true));
        assert_eq!(is_at_least("2.0.0-beta.1", 1, 29), Some(true));
        assert_eq!(is_at_least("latest", 1, 29), None);
        assert_eq!(is_at_least("1", 1, 29), None);
    }
}
