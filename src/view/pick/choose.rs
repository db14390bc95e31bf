//! The chooser without the picker: shows why a command stops, and how it can continue.

use std::io;
use std::time::Instant;

use super::backend::{CHOOSE, How, Purpose, RefusedResume};
use super::footer;
use super::keys::Typing;
use super::layout::{Area, ScreenLayout};
use super::painter::Painter;
use super::press::KeyResult;
use super::state::{Mode, PickerState};
use crate::error::Exit;
use crate::session::Session;
use crate::system::signals;
use crate::system::terminal::{Screen, TerminalEvent};
use crate::view::ui::Styles;

/// The answer of a user.
#[derive(Debug)]
pub(crate) enum UserChoice {
    Way(How),
    /// Nothing was chosen; the run ends with this status.
    Left(Exit),
}

/// Lets the user choose at the terminal; restores the screen afterwards.
pub(crate) fn choose(session: &Session, refused: RefusedResume, styles: &Styles) -> io::Result<UserChoice> {
    let purpose = Purpose { verb: CHOOSE, takes_several: false, is_checked: false };
    let mut state = PickerState::new(purpose, "", Box::new(|_| Err(String::new())));
    state.offer(session.key(), refused);
    let (mut screen, mut painter, mut typing) = (Screen::enter_raw_mode()?, Painter::default(), Typing::default());
    loop {
        let Mode::Ways { refused, cursor, .. } = &state.mode else { return Ok(UserChoice::Left(Exit::Interrupted)) };
        let layout = ScreenLayout::for_size(screen.size());
        let body = Area { columns: layout.columns, rows: layout.rows.saturating_sub(1) };
        let mut lines = footer::ways(refused, styles.warning, *cursor, body, styles);
        lines.resize_with(body.rows, Default::default);
        lines.push(footer::line(&state, layout.columns, styles));
        let lines: Vec<_> = lines.into_iter().map(|line| (line, None)).collect();
        screen.draw(&painter.lines(&lines, layout))?;
        let now = Instant::now();
        match screen.wait(typing.until().map(|until| until.saturating_duration_since(now)))? {
            TerminalEvent::Typed(bytes) => typing.push(&bytes),
            TerminalEvent::Woken | TerminalEvent::Resized | TerminalEvent::Quiet => {}
            TerminalEvent::Signal(signal) => return Ok(UserChoice::Left(Exit::Signal(signals::status_of(signal)))),
            TerminalEvent::Closed => return Ok(UserChoice::Left(Exit::Interrupted)),
        }
        for key in typing.pressed(Instant::now()) {
            match state.press(key) {
                KeyResult::Choose(_, ready) => {
                    return Ok(ready.how.map_or(UserChoice::Left(Exit::Interrupted), UserChoice::Way));
                }
                KeyResult::CopyText(text) => screen.draw(&super::to_clipboard(&text))?,
                KeyResult::Redraw => painter.forget(),
                KeyResult::Suspend => {
                    screen.suspend()?;
                    painter.forget();
                }
                KeyResult::Leave => return Ok(UserChoice::Left(Exit::Interrupted)),
                _ => {}
            }
        }
    }
}
