//! The tests that SECURITY.md, docs/reliability.md and the scripts in `.ci` name exist.

use std::path::Path;

/// The heading of the last column of their tables.
const HELD_BY: &str = " held by |\n";

/// Returns the source files that could contain a test of this name: below `tests/it`, `src`, or for a name that begins with
/// `changes::` in that crate.
fn sources(module: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = module.replace("::", "/");
    let files = match path.strip_prefix("changes/") {
        Some(path) => vec![root.join("crates/changes/src").join(path)],
        None => ["tests/it", "src"].map(|dir| root.join(dir).join(&path)).to_vec(),
    };
    let files = files.iter().flat_map(|file| [file.with_extension("rs"), file.join("mod.rs"), file.join("tests.rs")]);
    files.filter_map(|file| std::fs::read_to_string(file).ok()).collect()
}

/// Returns whether there is a test of this name, or if it ends in `::`, a module.
fn exists(test: &str) -> bool {
    let (module, name) = test.rsplit_once("::").expect("a module");
    let function = if name.is_empty() { "#[test]".to_owned() } else { format!("fn {name}(") };
    sources(module).iter().any(|text| text.contains(&function))
}

#[test]
fn every_promise_names_an_existing_test() {
    for (page, least) in [("SECURITY.md", 15), ("docs/reliability.md", 18)] {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
        let text = std::fs::read_to_string(page).expect("a page");
        let rows =
            text.split(HELD_BY).skip(1).flat_map(|table| table.lines().skip(1).take_while(|it| it.starts_with('|')));
        let promises: Vec<&str> = rows.collect();
        assert!(promises.len() >= least, "{promises:?}");
        for promise in promises {
            let tests: Vec<&str> = promise.split('`').skip(1).step_by(2).filter(|name| name.contains("::")).collect();
            assert!(!tests.is_empty(), "no test holds: {promise}");
            for test in tests {
                assert!(exists(test), "there is no {test}");
            }
        }
    }
}

#[test]
fn every_script_names_existing_tests() {
    // `cargo test` passes if no test has the name.
    let mut count = 0;
    for script in ["run", "full", "explore", "mutations"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci").join(script);
        let text = std::fs::read_to_string(path).expect("a script");
        for line in text.lines().filter(|line| line.contains("cargo test")) {
            let package = if line.contains("-p rejoin-changes") { "changes::" } else { "" };
            for test in line.split_whitespace().filter(|word| word.contains("::")) {
                let test = format!("{package}{}", test.trim_end_matches(|letter| !matches!(letter, 'a'..='z' | ':')));
                assert!(exists(&test), ".ci/{script} names {test}");
                count += 1;
            }
        }
    }
    assert!(count >= 4, "{count}");
}
