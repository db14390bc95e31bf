//! The sessions that a selector could mean, as a short table.

use unicode_width::UnicodeWidthStr as _;

use crate::error::Candidate;
use crate::format::text;

/// What a table is fitted to where there is no terminal.
pub(super) const DEFAULT_WIDTH: usize = 120;
/// What a title is worth showing in, and the most that a directory gets.
const NARROWEST_TITLE: usize = 12;
const WIDEST_DIR: usize = 30;
const GAP: usize = 2;

/// Returns a line a session: agent, what to type for it, title, directory and when it was active.
pub(super) fn table(candidates: &[Candidate], width: usize) -> Vec<String> {
    let rows: Vec<[String; 5]> = candidates
        .iter()
        .map(|one| {
            let title = one.title.as_deref().map(text::one_line).unwrap_or_default();
            let dir = text::truncated_path(&text::one_line(&one.row.dir), WIDEST_DIR).into_owned();
            let select = text::one_line(&one.select).into_owned();
            [one.agent.clone(), select, title.into_owned(), dir, one.row.active.clone()]
        })
        .collect();
    let widest = |at: usize| rows.iter().map(|row| row[at].width()).max().unwrap_or_default();
    let (agent, select, dir) = (widest(0), widest(1), widest(3));
    let others = 2 + agent + select + dir + widest(4) + 4 * GAP;
    let title = width.saturating_sub(others).max(NARROWEST_TITLE).min(widest(2));
    let padded = |text: &str, width: usize| format!("{text}{}", " ".repeat((width + GAP).saturating_sub(text.width())));
    let line = |[own_agent, own_select, own_title, own_dir, active]: &[String; 5]| {
        let cells = [
            padded(own_agent, agent),
            padded(own_select, select),
            padded(&text::truncated(own_title, title), title),
            padded(own_dir, dir),
            active.clone(),
        ];
        format!("  {}", cells.concat().trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Row;

    #[test]
    fn a_line_tells_a_session_from_the_others_and_fits() {
        let one = |id: &str, title: &str| Candidate {
            agent: "claude".to_owned(),
            select: id.to_owned(),
            title: Some(title.to_owned()),
            row: Row { dir: "~/app".to_owned(), active: "yesterday".to_owned() },
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
    }
}
