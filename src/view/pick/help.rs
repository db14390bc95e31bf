//! Every key with what it does: for the footer, for the page of all keys, and for the tests.

use super::backend::Purpose;

/// A key as it is called, and what it does.
pub(super) type Name = (&'static str, &'static str);

/// The keys of the list that the footer shows, those that matter most first.
pub(super) const ACTIONS: [Name; 9] = [
    ("?", "all keys"),
    ("^Y", "copy"),
    ("^O", "open"),
    ("^X", "delete"),
    ("tab", "mark"),
    ("^T", "pin"),
    ("^S", "sort"),
    ("^G", "group"),
    ("esc", "quit"),
];

/// What stands on the page of all keys, in parts.
pub(super) fn pages(purpose: Purpose) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let own = |keys: &[Name]| keys.iter().map(|(key, what)| (*key, (*what).to_owned())).collect::<Vec<_>>();
    let mut actions = vec![("enter", format!("{} the highlighted session", purpose.verb))];
    actions.extend(own(&[
        ("^Y", "copy the command that resumes it; of several that are marked, their names"),
        ("^O", "open it whole in a pager: everything that is known, and every message"),
        ("^X", "delete it, after a question; `rejoin undo` brings it back"),
        ("^T", "pin it, so that no cleanup takes it; again, let it go"),
        ("tab", "mark it for ^Y, ^X or ^T, and go on to the next; shift-tab goes back"),
    ]));
    let look = own(&[
        ("^S", "sort by activity, by size, by directory"),
        ("^G", "group by directory"),
        ("shift-up shift-down", "scroll the preview; alt works too"),
        ("^L", "draw the screen anew"),
        ("? F1", "show these keys"),
        ("esc ^C", "close this, or leave"),
    ]);
    let go = own(&[
        ("up down ^K ^J ^P ^N", "move"),
        ("page-up page-down", "move by a page"),
        ("home end", "go to the first, to the last"),
    ]);
    let edit = own(&[
        ("left right ^B ^F", "move in what you type"),
        ("^A ^E", "go to its start, to its end"),
        ("^W ^U", "erase the word, all before the cursor"),
        ("^D", "erase the character behind the cursor"),
    ]);
    let words = own(&[
        ("fix parser", "both words, in any order; letters may be left out: fxprsr"),
        ("\"fix the\"", "the words as they stand"),
        ("agent:claude", "sessions of one agent; agent:claude,codex of two"),
        ("dir:shop", "sessions whose directory contains it"),
        ("since:7d before:2026-03-01", "sessions active since then, or before"),
    ]);
    vec![("ACT", actions), ("MOVE", go), ("TYPE", edit), ("FIND", words), ("LOOK", look)]
}
