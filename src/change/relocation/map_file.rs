//! The file in which a person reviews which directory has become which: a line each, `"OLD" -> "NEW"`.

use std::path::{Path, PathBuf};

use crate::session::recorded;

/// A directory that is gone, and where its sessions could go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// What is gone.
    pub from: PathBuf,
    /// Where it may be now; `None` where nothing tells, or several places could be meant.
    pub to: Option<PathBuf>,
    /// How many sessions were started there or below.
    pub sessions: usize,
    /// What speaks for that place, or what else there is.
    pub why: String,
}

/// Writes a path as the file has it; `None` for one that is not UTF-8.
pub(crate) fn quoted(path: &Path) -> Option<String> {
    path.to_str().map(|path| serde_json::Value::from(path).to_string())
}

/// Reads the file; fails with the first line that is not understood, and what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Vec<(PathBuf, PathBuf)>, String> {
    let mut pairs = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let pair = pair(line).ok_or_else(|| format!("line {number} is not \"OLD\" -> \"NEW\": {line}"))?;
        if let Some(dir) = [&pair.0, &pair.1].into_iter().find(|dir| !recorded::is_absolute(dir)) {
            return Err(format!("line {number} names {}, which is not an absolute directory", dir.display()));
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

fn pair(line: &str) -> Option<(PathBuf, PathBuf)> {
    let (from, rest) = string(line)?;
    let (to, rest) = string(rest.trim_start().strip_prefix("->")?.trim_start())?;
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with('#')).then(|| (from.into(), to.into()))
}

/// Reads a string at the start of a text, and returns what follows it.
fn string(text: &str) -> Option<(String, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_odd_names_are_read_and_what_is_not_understood_is_named() {
        let text = "# a remark\n\n \"/w/a b\" -> \"/v/#1 \\\"q\\\"\"  # why\n\"/w/x\"->\"/y\"\n";
        let expected = [("/w/a b".into(), "/v/#1 \"q\"".into()), ("/w/x".into(), "/y".into())];
        assert_eq!(parse(text), Ok(expected.to_vec()));
        assert_eq!(quoted(Path::new("/v/#1 \"q\"")).as_deref(), Some("\"/v/#1 \\\"q\\\"\""));
        for (wrong, line) in
            [("\"/a\" \"/b\"", 1), ("\n/a -> /b", 2), ("\"/a\" -> \"/b\" \"/c\"", 1), ("\"a\" -> \"/b\"", 1)]
        {
            assert!(parse(wrong).expect_err(wrong).starts_with(&format!("line {line} ")));
        }
    }
}
