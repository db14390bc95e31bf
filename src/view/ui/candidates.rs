//! The candidates for a selector, as a short table.

use crate::error::Candidate;
use crate::format::text;
use crate::view::grid::{self, Column, Fit};

/// Maximum columns of a directory.
const WIDEST_DIR: usize = 30;

/// Returns one line per session: agent, the word to type for it, title, directory and the last activity.
pub(super) fn table(candidates: &[Candidate], width: usize) -> Vec<String> {
    let title = |one: &Candidate| one.title.as_deref().map(text::one_line).unwrap_or_default().into_owned();
    let dir = |one: &Candidate| text::truncated_path(&text::one_line(&one.row.dir), WIDEST_DIR).into_owned();
    let columns = vec![
        Column::new("", Fit::Whole, candidates.iter().map(|one| one.agent.as_str())),
        Column::new("", Fit::Whole, candidates.iter().map(|one| text::one_line(&one.select))),
        Column::new("", Fit::Text, candidates.iter().map(title)),
        Column::new("", Fit::Path, candidates.iter().map(dir)),
        Column::new("", Fit::Whole, candidates.iter().map(|one| one.row.active.as_str())),
    ];
    // The word to type is never cut.
    let width = width.saturating_sub(2).max(grid::needed(&columns[..2], [0; 2]));
    grid::lines(columns, width).map(|line| format!("  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CandidateTexts;

    #[test]
    fn a_line_identifies_its_session_and_fits() {
        let one = |id: &str, title: &str| Candidate {
            agent: "claude".to_owned(),
            select: id.to_owned(),
            title: Some(title.to_owned()),
            row: CandidateTexts { dir: "~/app".to_owned(), active: "yesterday".to_owned() },
            ..Candidate::default()
        };
        let candidates = [one("5d1f", "Fix the parser of the\nconfiguration"), one("6a\x1b[2J", "x")];
        assert_eq!(
            table(&candidates, 60),
            [
                "  claude  5d1f         Fix the parser of …  ~/app  yesterday",
                "  claude  6a\\u{1b}[2J  x                    ~/app  yesterday",
            ]
        );
        assert_eq!(table(&candidates, 20), ["  claude  5d1f", "  claude  6a\\u{1b}[2J"]);
    }
}
