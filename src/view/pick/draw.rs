//! Draws the picker as lines of a screen.

use super::footer;
use super::head::{prompt, status};
use super::help;
use super::layout::ScreenLayout;
use super::line::StyledLine;
use super::list;
use super::pane::{self, PreviewContent};
use super::state::{Mode, PickerState};
use crate::view::ui::Styles;

/// A line of the screen: the part at its left edge, and a second part from a column on.
pub(super) type Pair = (StyledLine, Option<(usize, StyledLine)>);

pub(super) fn screen(
    state: &mut PickerState,
    shown: PreviewContent<'_>,
    layout: ScreenLayout,
    styles: &Styles,
) -> Vec<Pair> {
    let single = |line: StyledLine| (line, None);
    let mut lines = vec![single(prompt(state, layout).0)];
    if layout.has_status {
        lines.push(single(status(state, styles).cut(layout.columns)));
    }
    let body = layout.body();
    let start = lines.len();
    match state.mode.clone() {
        Mode::Help(top) => lines.extend(help::page_of_keys(state, top, body, styles).into_iter().map(single)),
        Mode::Sure { items, bytes } => {
            lines.extend(footer::question(state, &items, bytes, body, styles).into_iter().map(single));
        }
        Mode::Ways { refused, cursor, is_offer, .. } => {
            let style = if is_offer { styles.header } else { styles.warning };
            lines.extend(footer::ways(&refused, style, cursor, body, styles).into_iter().map(single));
        }
        Mode::List => {
            let list = list::lines(state, layout.list, styles);
            let preview = pane::lines(state, shown, layout.preview, styles);
            if layout.is_beside() {
                let bar = |line: Option<&StyledLine>| {
                    let mut right = StyledLine::styled(styles.faint, "│ ");
                    line.into_iter().for_each(|line| right.append(line));
                    right
                };
                lines.extend((0..body.rows).map(|at| {
                    let left = list.get(at).cloned().unwrap_or_default();
                    (left, Some((layout.list.columns + 1, bar(preview.get(at)))))
                }));
            } else {
                lines.extend(list.into_iter().map(single));
                if layout.preview.rows > 0 {
                    lines.resize(start + layout.list.rows, single(StyledLine::default()));
                    lines.push(single(StyledLine::styled(styles.faint, &"─".repeat(layout.columns))));
                    lines.extend(preview.into_iter().map(single));
                }
            }
        }
    }
    if layout.has_footer {
        lines.resize(layout.rows - 1, single(StyledLine::default()));
        lines.push(single(footer::line(state, layout.columns, styles)));
    }
    lines.truncate(layout.rows);
    lines
}

#[cfg(test)]
pub(super) mod tests {
    use unicode_width::UnicodeWidthStr as _;

    use super::super::backend::{Ready, RefusedResume};
    use super::super::keys::PickerKey;
    use super::super::preview::{self, FactLine, Preview};
    use super::super::state::tests::{best_message, listed, typed};
    use super::*;
    use crate::session::{AgentKind, Role};
    use crate::system::terminal::Size;

    pub(in crate::view::pick) const LIST: [(&str, &str); 3] = [
        ("Fix the parser of the configuration file", "/srv/a-directory/with/a/long/name"),
        ("日本語の題名です、とても長い題名です、本当に", "/srv/app"),
        ("x", "?"),
    ];

    fn drawn(state: &mut PickerState, columns: usize, rows: usize, preview: Option<&Preview>) -> Vec<String> {
        let layout = ScreenLayout::for_size(Size { columns, rows });
        state.fit(layout.list.rows);
        let fact = |words: &str, is_warning| FactLine { words: words.to_owned(), is_warning };
        let facts = [fact("claude 0000-aaaa", false), fact("~/app", false), fact("its directory is gone", true)];
        let shown = PreviewContent { facts: &facts, preview };
        let text = |(left, right): &Pair| match right {
            Some((column, right)) => format!("{}{}", left.clone().padded(*column).codes(), right.codes()),
            None => left.codes(),
        };
        screen(state, shown, layout, &Styles::default()).iter().map(|pair| text(pair).trim_end().to_owned()).collect()
    }

    fn messages() -> Preview {
        let line = |role, words| preview::PreviewMessage { role, branch: None, words };
        Preview::Messages(vec![line(Role::User, "a b c ".repeat(50)), line(Role::Assistant, "日本".repeat(200))])
    }

    #[test]
    fn draw_shows_every_column_and_problem() {
        let mut state = listed(&LIST);
        state.items[0].marks.push(super::super::item::ItemMark { word: "dir gone".to_owned(), is_in_the_way: true });
        state.press(PickerKey::Down);
        state.press(PickerKey::Mark);
        assert_eq!(
            drawn(&mut state, 80, 8, None),
            [
                ">",
                "3 of 3 sessions, 1 marked",
                "  claude  Fix the parser of the configu…  dir gone  /srv/…/long/name  yesterday",
                " *claude  日本語の題名です、とても長い題名です、…   /srv/app          yesterday",
                "> claude  x                                         ?                 yesterday",
                "",
                "",
                "enter resume  ? all keys  ^Y copy  ^O open  ^X delete  tab mark  ^T pin",
            ]
        );
    }

    #[test]
    fn frame_never_exceeds_the_terminal() {
        let previews =
            [None, Some(messages()), Some(Preview::TooLarge(1 << 40)), Some(Preview::Unreadable("no".repeat(99)))];
        let way = Ready { line: "rejoin resume x".repeat(20), why: "why ".repeat(50), how: None };
        let refused = RefusedResume { why: "日本 gone ".repeat(30), ready: vec![way; 9] };
        let ways = Mode::Ways { key: (AgentKind::Claude, "x".to_owned()), refused, cursor: 5, is_offer: false };
        let modes = [Mode::List, Mode::Help(3), Mode::Sure { items: vec![0, 1, 2], bytes: 1 << 40 }, ways];
        let mut state = listed(&LIST);
        state.is_grouped = true;
        typed(&mut state, "a");
        state.add_said(vec![((AgentKind::Claude, "0001-aaaa".to_owned()), best_message("日本"))]);
        for mode in modes {
            state.mode = mode;
            for columns in (1..190).step_by(3) {
                for rows in 1..30 {
                    let drawn = drawn(&mut state, columns, rows, previews[(columns + rows) % 4].as_ref());
                    assert!(drawn.len() <= rows, "{columns}x{rows}: {drawn:#?}");
                    // The shortest prompt line is a sign and a blank.
                    let widest = drawn.iter().map(|line| line.width()).max();
                    assert!(widest < Some(columns.max(4)), "{columns}x{rows}: {drawn:#?}");
                }
            }
        }
    }

    #[test]
    fn tiny_terminal_shows_highlighted_session() {
        let mut state = listed(&LIST);
        assert_eq!(drawn(&mut state, 20, 1, None), [">"]);
        state.press(PickerKey::Down);
        assert_eq!(drawn(&mut state, 20, 2, None), [">", "> 日本語の題名です…"]);
        assert_eq!(drawn(&mut state, 12, 4, None), [">", "3 of 3 ses…", "> 日本語の…", "  x"]);
    }

    #[test]
    fn long_query_shows_its_end() {
        let mut state = listed(&LIST);
        typed(&mut state, "one two three");
        assert_eq!(drawn(&mut state, 20, 1, None), ["> one two three"]);
        assert_eq!(drawn(&mut state, 12, 1, None), ["> …o three"]);
        assert_eq!(drawn(&mut state, 5, 1, None), ["> …"]);
        typed(&mut state, "日本語");
        assert_eq!(drawn(&mut state, 10, 1, None), ["> …本語"]);
    }

    #[test]
    fn preview_scrolls_below_or_next_to_list() {
        let mut state = listed(&LIST);
        let below = drawn(&mut state, 60, 20, Some(&messages()));
        assert_eq!(below[11], "─".repeat(59));
        assert_eq!(below[12], "claude 0000-aaaa");
        assert!(below[18].starts_with('日'), "{below:#?}");
        let right = drawn(&mut state, 180, 20, Some(&messages()));
        assert!(right[2].contains("│ Fix the parser of the configuration file"), "{right:#?}");
        assert!(right[3].contains("│ claude 0000-aaaa"), "{right:#?}");
        for _ in 0..99 {
            state.press(PickerKey::PreviewUp);
        }
        let above = drawn(&mut state, 180, 20, Some(&messages()));
        assert!(above[7].contains("│ user: a b c a b"), "{above:#?}");
        state.press(PickerKey::PreviewDown);
        assert_ne!(drawn(&mut state, 180, 20, Some(&messages())), above);
    }

    #[test]
    fn matches_in_messages_and_long_titles_are_visible() {
        let title = format!("{} needle in a haystack", "hay ".repeat(40));
        let mut state = listed(&[(&title, "/srv/app"), ("Other", "/srv/app")]);
        typed(&mut state, "needle");
        state.add_said(vec![((AgentKind::Claude, "0001-aaaa".to_owned()), best_message("needle"))]);
        let drawn = drawn(&mut state, 70, 7, None);
        assert_eq!(drawn[1], "2 of 2 sessions (1 by its messages)");
        assert!(drawn[2].contains("… hay hay needle in a h…") || drawn[2].contains("needle in a"), "{drawn:#?}");
        assert_eq!(drawn[4], "    user: so needle it  +2");
        let mut on_branch = best_message("needle");
        on_branch.hit.branch = Some(2);
        state.add_said(vec![((AgentKind::Claude, "0001-aaaa".to_owned()), on_branch)]);
        assert_eq!(self::drawn(&mut state, 70, 7, None)[4], "    user (branch 2): so needle it  +2");
    }
}
