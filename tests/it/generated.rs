//! Generated parts of the documentation: a page must have the text that the test generates.
//!
//! A part begins with `<!-- made by tests: NAME -->` and ends with `<!-- end -->`; `SNAPSHOTS=overwrite` rewrites it.

use std::path::Path;
use std::sync::Mutex;

/// Locked while a page is written: several tests may write parts of one.
static WRITING: Mutex<()> = Mutex::new(());

/// Returns whether the pages should be rewritten.
pub(crate) fn is_overwriting() -> bool {
    std::env::var_os("SNAPSHOTS").is_some_and(|wish| wish == "overwrite")
}

/// Replaces a text in a page.
pub(crate) fn replace_in_page(page: &str, old: &str, new: &str) {
    let _writing = WRITING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let whole = std::fs::read_to_string(&path).expect("a page");
    std::fs::write(&path, whole.replacen(old, new, 1)).expect("a page that is written");
}

/// Compares a generated file with its text.
#[track_caller]
pub(crate) fn assert_file(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if is_overwriting() {
        std::fs::write(&path, text).expect("a file that is written");
    }
    assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), Some(text), "{file} is stale: run .ci/generate");
}

/// Compares a part of a page with its text.
#[track_caller]
pub(crate) fn assert_part(page: &str, name: &str, text: &str) {
    let _writing = WRITING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let whole = std::fs::read_to_string(&path).expect("a page");
    let opening = format!("<!-- made by tests: {name} -->\n");
    let start = whole.find(&opening).unwrap_or_else(|| panic!("{page} has no part {name}")) + opening.len();
    let end = start + whole[start..].find("<!-- end -->").expect("the end of the part");
    let text = format!("{}\n", text.trim_end());
    if is_overwriting() {
        std::fs::write(&path, [&whole[..start], &text, &whole[end..]].concat()).expect("a page that is written");
        return;
    }
    assert_eq!(
        whole[start..end],
        text,
        "{page} is stale in its part {name}: run SNAPSHOTS=overwrite cargo test --test it"
    );
}
