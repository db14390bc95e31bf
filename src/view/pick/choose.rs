//! The chooser alone: the reason why a command stops, and the ways in which it can continue.

use std::io;
use std::time::Instant;

use super::backend::{How, Purpose, Refused};
use super::footer;
use super::keys::Typing;
use super::layout::{Area, Layout};
use super::painter::Painter;
use super::press::Step;
use super::state::{Mode, State};
use crate::error::Exit;
use crate::session::Session;
use crate::system::signals;
use crate::system::terminal::{Event, Screen};
use crate::view::ui::Styles;

/// The answer of a user.
#[derive(Debug)]
pub(crate) enum Choice {
    Way(How),
    /// Nothing was chosen; the run ends with this status.
    Left(Exit),
}

/// Lets the user choose at the terminal; restores the screen afterwards.
pub(crate) fn choose(session: &Session, refused: Refused, styles: &Styles) -> io::Result<Choice> {
    let purpose = Purpose { verb: "choose", takes_several: false, is_checked: false };
    let mut state = State::new(purpose, "", Box::new(|_| Err(String::new())));
    state.offer(session.key(), refused);
    let (mut screen, mut painter, mut typing) = (Screen::take()?, Painter::default(), Typing::default());
    loop {
        let Mode::Ways { refused, cursor, .. } = &state.mode else { return Ok(Choice::Left(Exit::Interrupted)) };
        let layout = Layout::of(screen.size());
        let body = Area { columns: layout.columns, rows: layout.rows.saturating_sub(1) };
        let mut lines = footer::ways(refused, styles.warning, *cursor, body, styles);
        lines.resize_with(body.rows, Default::default);
        lines.push(footer::line(&state, layout.columns, styles));
        let lines: Vec<_> = lines.into_iter().map(|line| (line, None)).collect();
        screen.draw(&painter.lines(&lines, layout))?;
        let now = Instant::now();
        match screen.wait(typing.until().map(|until| until.saturating_duration_since(now)))? {
            Event::Typed(bytes) => typing.push(&bytes),
            Event::Woken | Event::Resized | Event::Quiet => {}
            Event::Signal(signal) => return Ok(Choice::Left(Exit::Signal(signals::status_of(signal)))),
            Event::Closed => return Ok(Choice::Left(Exit::Interrupted)),
        }
        for key in typing.pressed(Instant::now()) {
            match state.press(key) {
                Step::Choose(_, ready) => return Ok(ready.how.map_or(Choice::Left(Exit::Interrupted), Choice::Way)),
                Step::CopyText(text) => screen.draw(&super::to_clipboard(&text))?,
                Step::Redraw => painter.forget(),
                Step::Suspend => {
                    screen.suspend()?;
                    painter.forget();
                }
                Step::Leave => return Ok(Choice::Left(Exit::Interrupted)),
                _ => {}
            }
        }
    }
}
