//! Picking a session on a terminal: type to filter, move, look at the end of its conversation, take it.
//!
//! `state` knows what keys do, `draw` what that looks like, `ui::terminal` is the terminal; here they meet.

mod draw;
mod keys;
mod preview;
mod state;

use std::io;
use std::time::Duration;

use draw::Layout;
use keys::Keys;
use preview::Preview;
use state::{Item, State, Step};

use crate::error::Exit;
use crate::session::Session;
use crate::system::env::Env;
use crate::system::signals;
use crate::system::terminal::{Event, Screen};
use crate::view::ui::Styles;

/// How long a key that begins with an escape may take to come.
const KEY_PATIENCE: Duration = Duration::from_millis(50);
/// How long the cursor rests on a session before its messages are read.
const PREVIEW_PATIENCE: Duration = Duration::from_millis(80);

/// How the picking ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// The session at this place was taken.
    Session(usize),
    /// None was, and the run ends like this.
    Left(Exit),
}

/// Lets a person at the terminal pick one of the sessions; the screen is as before when this returns.
pub(crate) fn pick(sessions: &[Session], env: &Env, styles: &Styles) -> io::Result<Picked> {
    let mut state = State::new(sessions.iter().map(|session| Item::of(session, env)).collect());
    let mut keys = Keys::default();
    let mut shown: Option<(usize, Preview)> = None;
    let mut screen = Screen::take()?;
    loop {
        let layout = Layout::of(screen.size());
        state.fit(layout.list);
        let highlighted = state.highlighted();
        let preview = shown.as_ref().filter(|(at, _)| Some(*at) == highlighted).map(|(_, preview)| preview);
        screen.draw(&draw::frame(&state, preview, layout, styles))?;

        let wants_preview = layout.preview > 0 && preview.is_none() && highlighted.is_some();
        let patience = match (keys.is_unfinished(), wants_preview) {
            (true, _) => Some(KEY_PATIENCE),
            (false, true) => Some(PREVIEW_PATIENCE),
            (false, false) => None,
        };
        let mut finished = None;
        match screen.wait(patience)? {
            Event::Typed(bytes) => keys.push(&bytes),
            Event::Quiet if keys.is_unfinished() => finished = keys.finish(),
            Event::Quiet => shown = highlighted.map(|at| (at, Preview::read(&sessions[at]))),
            Event::Resized => {}
            Event::Signal(signal) => return Ok(Picked::Left(Exit::Signal(signals::status_of(signal)))),
            Event::Closed => return Ok(Picked::Left(Exit::Interrupted)),
        }
        for key in finished.into_iter().chain(&mut keys) {
            match state.press(key) {
                Step::GoOn => {}
                Step::Take(at) => return Ok(Picked::Session(at)),
                Step::Leave => return Ok(Picked::Left(Exit::Interrupted)),
            }
        }
    }
}
