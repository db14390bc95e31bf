//! Every key with its action: for the footer, and on the page of all keys.

use super::backend::Purpose;
use super::layout::Area;
use super::line::{StyledLine, wrapped};
use super::state::PickerState;
use crate::view::ui::Styles;

/// The name of a key, and its action.
pub(super) type KeyHelp = (&'static str, &'static str);

/// The keys of the list that the footer shows, the most important first.
const ACTIONS: [KeyHelp; 10] = [
    ("?", "all keys"),
    ("^Y", "copy"),
    ("^O", "open"),
    ("^X", "delete"),
    ("tab", "mark"),
    ("^T", "pin"),
    WITH,
    ("^S", "sort"),
    ("^G", "group"),
    ("esc", "quit"),
];

/// The key that only a resume has.
const WITH: KeyHelp = ("^R", "other agent");

/// Returns the keys of the list that have an action for this purpose.
pub(super) fn actions(purpose: Purpose) -> impl Iterator<Item = KeyHelp> {
    let is_meant = move |name: &KeyHelp| *name != WITH || purpose.is_checked;
    std::iter::once(("enter", purpose.verb)).chain(ACTIONS.into_iter().filter(is_meant))
}

/// The contents of the page of all keys, in parts.
fn pages(purpose: Purpose) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let own = |keys: &[KeyHelp]| keys.iter().map(|(key, what)| (*key, (*what).to_owned())).collect::<Vec<_>>();
    let of = if purpose.verb.contains(' ') { " of" } else { "" };
    let mut actions = vec![("enter", format!("{}{of} the highlighted session", purpose.verb))];
    actions.extend(own(&[
        ("^Y", "copy the command that resumes it; of several that are marked, their names"),
        ("^O", "open it whole in a pager: everything that is known, and every message"),
        ("^X", "delete it, after a question; `rejoin undo` restores it"),
        ("^T", "pin it, so that no cleanup takes it; again, let it go"),
        ("^R", "continue it with another agent, which gets a briefing; the session is only read"),
        ("tab", "mark it for ^Y, ^X or ^T, and move to the next; shift-tab goes back"),
    ]));
    actions.retain(|(key, _)| *key != WITH.0 || purpose.is_checked);
    let look = own(&[
        ("^S", "sort by activity, by size, by directory"),
        ("^G", "group by directory"),
        ("shift-up shift-down", "scroll the preview; alt works too"),
        ("^L ^Z", "redraw the screen, suspend the program"),
        ("? F1", "show these keys"),
        ("esc ^C", "close this, or leave"),
    ]);
    let go = own(&[
        ("up down ^K ^J ^P ^N", "move"),
        ("page-up page-down", "move by a page"),
        ("home end", "go to the first, to the last"),
        ("click", "choose a session; a second click does what enter does"),
        ("wheel", "move in the list, or scroll the preview"),
    ]);
    let edit = own(&[
        ("left right ^B ^F", "move in what you type"),
        ("^A ^E", "go to its start, to its end"),
        ("^W ^U", "erase the word, all before the cursor"),
        ("^D", "erase the character under the cursor"),
    ]);
    let words = own(&[
        ("fix parser", "both words, in any order; letters may be left out: fxprsr"),
        ("\"fix the\"", "the words as they stand"),
        ("agent:claude", "sessions of one agent; agent:claude,codex of two"),
        ("dir:shop", "sessions whose directory contains it"),
        ("since:7d before:2026-03", "sessions active since then, or before"),
        ("is:pinned is:dir-gone", "sessions with that mark"),
        ("tag:shop", "sessions with that tag"),
        ("!draft -draft", "sessions without that word"),
    ]);
    vec![("ACT", actions), ("MOVE", go), ("TYPE", edit), ("FIND", words), ("LOOK", look)]
}

/// Returns the part of the page of all keys that fits, from line `top` on.
pub(super) fn page_of_keys(state: &PickerState, top: usize, body: Area, styles: &Styles) -> Vec<StyledLine> {
    const KEYS: usize = 24;
    let mut lines = Vec::new();
    for (name, keys) in pages(state.purpose) {
        lines.push(StyledLine::styled(styles.header, name));
        for (key, what) in keys {
            let room = body.columns.saturating_sub(4).max(8);
            // If the key and the action do not fit on one line, the action is on the next line.
            if room < KEYS + 20 {
                lines.push(StyledLine::styled(styles.strong, &format!("  {key}")));
                lines.extend(wrapped(&what, room, 9).iter().map(|words| StyledLine::plain(&format!("    {words}"))));
                continue;
            }
            for (at, words) in wrapped(&what, room - KEYS, 9).iter().enumerate() {
                let mut line = StyledLine::styled(styles.strong, &format!("  {}", if at == 0 { key } else { "" }));
                line = line.padded(KEYS + 2);
                line.push(anstyle::Style::new(), words);
                lines.push(line);
            }
        }
    }
    let last = lines.len().saturating_sub(body.rows);
    lines.into_iter().skip(top.min(last)).take(body.rows).map(|line| line.cut(body.columns)).collect()
}
