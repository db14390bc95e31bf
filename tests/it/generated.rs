//! Parts of the documentation that a test makes: what stands there must be what the test finds.
//!
//! A part begins with `<!-- made by tests: NAME -->` and ends with `<!-- end -->`; `SNAPSHOTS=overwrite` writes it anew.

use std::path::Path;

/// Holds a part of a page against its text.
#[track_caller]
pub(crate) fn assert_part(page: &str, name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let whole = std::fs::read_to_string(&path).expect("a page");
    let opening = format!("<!-- made by tests: {name} -->\n");
    let start = whole.find(&opening).unwrap_or_else(|| panic!("{page} has no part {name}")) + opening.len();
    let end = start + whole[start..].find("<!-- end -->").expect("the end of the part");
    let text = format!("{}\n", text.trim_end());
    if std::env::var_os("SNAPSHOTS").is_some_and(|wish| wish == "overwrite") {
        std::fs::write(&path, [&whole[..start], &text, &whole[end..]].concat()).expect("a page that is written");
        return;
    }
    assert_eq!(
        whole[start..end],
        text,
        "{page} is stale in its part {name}: run SNAPSHOTS=overwrite cargo test --test it"
    );
}
