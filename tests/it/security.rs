//! SECURITY.md names the test of each promise, and there is one.

use std::path::Path;

/// Returns the source files in which a test of this name would stand: below `tests/it` or `src`.
fn sources(module: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = module.replace("::", "/");
    let files = ["tests/it", "src"].map(|dir| root.join(dir).join(&path));
    let files = files.iter().flat_map(|file| [file.with_extension("rs"), file.join("mod.rs")]);
    files.filter_map(|file| std::fs::read_to_string(file).ok()).collect()
}

#[test]
fn every_promise_names_a_test_that_is_there() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("SECURITY.md");
    let text = std::fs::read_to_string(page).expect("a page");
    let (_, table) = text.split_once("| --- | --- |\n").expect("a table");
    let promises: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert!(promises.len() > 10, "{promises:?}");
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
