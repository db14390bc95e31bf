//! The package for crates.io.

use std::collections::BTreeSet;
use std::process::Command;

use crate::sample_home::{NOW, sample_home};

#[test]
fn package_has_no_files_for_developers() {
    let listed = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "--quiet"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).expect("names");
    let mut top: BTreeSet<&str> = listed.lines().filter_map(|file| file.split('/').next()).collect();
    // The commit, if the package is made in a repository.
    top.remove(".cargo_vcs_info.json");
    let expected = [
        "CHANGELOG.md",
        "Cargo.lock",
        "Cargo.toml",
        "Cargo.toml.orig",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "SECURITY.md",
        "completions",
        "contrib",
        "docs",
        "man",
        "src",
    ];
    assert_eq!(top.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn try_of_package_picks_newest_session() {
    let script = include_str!("../../.ci/try");
    let id = script.split("PICKED_TITLE = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("an id");
    let shown = sample_home().with("REJOIN_NOW", NOW).rejoin(["show", "latest"]).code(0).stdout();
    assert!(shown.starts_with(&format!("claude {id}\n")), "{shown}");
}
