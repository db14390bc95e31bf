//! SECURITY.md and docs/reliability.md name the tests for their promises, and these tests exist.

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
                let (module, name) = test.rsplit_once("::").expect("a module");
                let attribute = format!("fn {name}(");
                assert!(sources(module).iter().any(|text| text.contains(&attribute)), "there is no {test}");
            }
        }
    }
}
