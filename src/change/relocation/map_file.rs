//! The file in which the user reviews moved directories, one per line: `"OLD" -> "NEW"`.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::session::recorded;
use changes::path_text::lossy;

/// A missing directory with its possible new path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Proposal {
    /// The old path of the directory.
    #[serde(serialize_with = "lossy")]
    pub from: PathBuf,
    /// The possible new directory; `null` without evidence, or with evidence for several.
    #[serde(serialize_with = "lossy_option")]
    pub to: Option<PathBuf>,
    /// Number of sessions that were started in the directory or below it.
    pub sessions: usize,
    /// The evidence for the new directory, or the other candidates.
    pub why: String,
}

fn lossy_option<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(to)
}

/// Quotes a path for the file; `None` if it is not UTF-8.
pub(crate) fn quoted(path: &Path) -> Option<String> {
    path.to_str().map(|path| serde_json::Value::from(path).to_string())
}

/// Parses the file; fails with the first invalid line and the reason.
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

/// Parses a string at the start of a text; returns it and the rest.
fn string(text: &str) -> Option<(String, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_file_allows_comments_and_reports_error_line() {
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
