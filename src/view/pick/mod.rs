//! The picker: searches, previews and chooses a session on a terminal.
//!
//! `press` handles keys, `draw` draws, `system::terminal` is the terminal, and a [`Backend`] reads and changes
//! sessions; this module connects them. Slow work runs in other threads, which report when it is done.

mod backend;
mod background;
mod choose;
mod click;
mod draw;
mod edit;
mod footer;
mod head;
mod help;
mod item;
mod keys;
mod layout;
mod line;
mod list;
mod listing;
mod mouse;
mod pager;
mod painter;
mod pane;
mod press;
mod preview;
mod search;
mod state;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) use backend::{Backend, How, Purpose, Ready, RefusedResume};
use background::{Background, News};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
pub(crate) use choose::{UserChoice, choose};
use item::ItemKey;
use keys::Typing;
use layout::ScreenLayout;
use painter::Painter;
use pane::PreviewContent;
use press::KeyResult;
use preview::{FactLine, Preview};
use search::SearchResult;
use state::{Mode, PickerState};

use crate::change::plan::change::Change;
use crate::error::Exit;
use crate::session::Session;
use crate::session::when::When;
use crate::system::deadline;
use crate::system::env::Env;
use crate::system::signals;
use crate::system::terminal::{Screen, TerminalEvent};
use crate::view::ui::Styles;

/// Time that the cursor rests on a session before its messages are read.
const PREVIEW_PAUSE: Duration = Duration::from_millis(60);
/// Time without typing before messages are searched.
const SEARCH_PAUSE: Duration = Duration::from_millis(20);
/// Minimum letters of a search; fewer are in every message.
const SHORTEST_SEARCH: usize = 3;
/// Maximum bytes for the clipboard of a terminal.
const MAX_COPIED: usize = 64 * 1024;

/// The result of picking.
#[derive(Debug)]
pub(crate) enum Picked {
    /// These sessions were picked, to be resumed with these choices.
    Sessions(Vec<Arc<Session>>, How),
    /// No session was picked; the run ends with this status.
    Left(Exit),
    /// There are no sessions to pick from.
    Nothing,
}

/// Lets the user at the terminal pick sessions, with `words` as the first search text; restores the screen afterwards.
pub(crate) fn pick(
    backend: &Arc<dyn Backend>,
    purpose: Purpose,
    words: &str,
    env: &Env,
    styles: &Styles,
) -> io::Result<Picked> {
    let clock = env.clock.clone();
    let time = move |text: &str| text.parse::<When>().map(|when| clock.before(when));
    let screen = Screen::enter_raw_mode()?;
    let background = Background::new(Arc::clone(backend), screen.waker());
    let mut picker = Picker {
        state: PickerState::new(purpose, words, Box::new(time)),
        sessions: Vec::new(),
        highlighted: None,
        facts: Vec::new(),
        preview: None,
        removal: None,
        preview_at: None,
        search_at: None,
        painter: Painter::default(),
        background,
        screen,
        env,
        styles,
    };
    picker.background.load(env);
    picker.run()
}

struct Picker<'a> {
    state: PickerState,
    /// The sessions of the items, in the same order as the items.
    sessions: Vec<Arc<Session>>,
    /// The session whose facts and preview are shown.
    highlighted: Option<ItemKey>,
    facts: Vec<FactLine>,
    preview: Option<Preview>,
    /// The removal that the user is asked about.
    removal: Option<Change>,
    preview_at: Option<Instant>,
    search_at: Option<Instant>,
    painter: Painter,
    background: Background,
    screen: Screen,
    env: &'a Env,
    styles: &'a Styles,
}

impl Picker<'_> {
    fn run(&mut self) -> io::Result<Picked> {
        let mut typing = Typing::default();
        loop {
            while let Some(news) = self.background.news() {
                if let Some(picked) = self.hear(news) {
                    return Ok(picked);
                }
            }
            let layout = ScreenLayout::for_size(self.screen.size());
            self.show_highlighted(layout);
            let shown = PreviewContent { facts: &self.facts, preview: self.preview.as_ref() };
            let frame = self.painter.frame(&mut self.state, shown, layout, self.styles);
            self.screen.draw(&frame)?;

            let next = [typing.until(), self.preview_at, self.search_at].into_iter().flatten().min();
            match self.screen.wait(next.map(|next| next.saturating_duration_since(Instant::now())))? {
                TerminalEvent::Typed(bytes) => typing.push(&bytes),
                TerminalEvent::Woken | TerminalEvent::Resized | TerminalEvent::Quiet => {}
                TerminalEvent::Signal(signal) => return Ok(Picked::Left(Exit::Signal(signals::status_of(signal)))),
                TerminalEvent::Closed => return Ok(Picked::Left(Exit::Interrupted)),
            }
            let now = Instant::now();
            let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            for key in typing.pressed(now) {
                if let Some(picked) = self.press(key)? {
                    return Ok(picked);
                }
            }
            if is_due(self.preview_at) {
                self.preview_at = None;
                let session = self.state.highlighted().map(|at| Arc::clone(&self.sessions[at]));
                let around = self.state.only_said().map(|best| best.hit.number);
                session.into_iter().for_each(|session| self.background.preview(session, around));
            }
            if is_due(self.search_at) {
                self.search_at = None;
                self.search();
            }
        }
    }

    /// Updates the facts and the preview if another session is highlighted now.
    fn show_highlighted(&mut self, layout: ScreenLayout) {
        self.state.layout = layout;
        self.state.fit(layout.list.rows);
        let here = self.state.key();
        if here != self.highlighted {
            self.background.forget_preview();
            self.facts =
                self.state.highlighted().map_or_else(Vec::new, |at| preview::facts(&self.sessions[at], self.env));
            self.preview = None;
            self.preview_at = here.as_ref().map(|_| deadline::after(PREVIEW_PAUSE));
            self.highlighted = here;
        }
        if layout.preview.rows == 0 {
            self.preview_at = None;
        }
    }

    fn press(&mut self, key: keys::PickerKey) -> io::Result<Option<Picked>> {
        let before = self.state.edit.text().to_owned();
        let step = self.state.press(key);
        if self.state.edit.text() != before {
            self.search_again();
        }
        match step {
            KeyResult::Stay => {}
            KeyResult::Redraw => self.painter.forget(),
            KeyResult::Suspend => {
                self.screen.suspend()?;
                self.painter.forget();
            }
            KeyResult::Leave if self.state.busy == Some(REMOVING) => {
                self.state.note = Some("The deletion is not done yet; leave when it is.".to_owned());
            }
            KeyResult::Leave => return Ok(Some(Picked::Left(Exit::Interrupted))),
            KeyResult::Take(items) => {
                let taken: Vec<Arc<Session>> = items.iter().map(|at| Arc::clone(&self.sessions[*at])).collect();
                if self.state.purpose.is_checked {
                    self.check(&taken, How::default());
                } else {
                    return Ok(Some(Picked::Sessions(taken, How::default())));
                }
            }
            KeyResult::Choose(key, ready) => {
                if let (Some(session), Some(how)) = (self.session(&key), ready.how) {
                    self.check(&[session], how);
                }
            }
            KeyResult::CopyText(text) => self.copy(&text)?,
            KeyResult::CopyCommand(at) => {
                self.state.busy = Some("Checking");
                self.background.command(Arc::clone(&self.sessions[at]));
            }
            KeyResult::AskForAgents(at) => {
                self.state.busy = Some("Looking for agents");
                self.background.other_agents(Arc::clone(&self.sessions[at]));
            }
            KeyResult::Open(key) => self.open(&key)?,
            KeyResult::AskToRemove(items) if items.iter().any(|at| self.sessions[*at].is_pinned) => {
                let one = if items.len() == 1 { "It" } else { "One of them" };
                self.state.note = Some(format!("{one} is pinned; ^T unpins it."));
            }
            KeyResult::AskToRemove(items) => {
                self.state.busy = Some("Looking at what goes");
                self.background.plan_removal(items.iter().map(|at| Arc::clone(&self.sessions[*at])).collect());
            }
            KeyResult::Remove => {
                if let Some(change) = self.removal.take() {
                    self.state.busy = Some(REMOVING);
                    self.background.remove(change);
                }
            }
            KeyResult::Pin(items, is_wanted) => {
                self.state.busy = Some("Pinning");
                let sessions = items.iter().map(|at| Arc::clone(&self.sessions[*at])).collect();
                self.background.pin(sessions, is_wanted);
            }
        }
        Ok(None)
    }

    fn check(&mut self, sessions: &[Arc<Session>], how: How) {
        if let Some(session) = sessions.first() {
            self.state.busy = Some("Checking");
            self.background.check(Arc::clone(session), how);
        }
    }

    fn session(&self, key: &ItemKey) -> Option<Arc<Session>> {
        self.state.items.iter().position(|item| item.key == *key).map(|at| Arc::clone(&self.sessions[at]))
    }

    /// Handles a result from another thread.
    fn hear(&mut self, news: News) -> Option<Picked> {
        match news {
            News::Loaded { sessions, items, problems } => {
                self.sessions = sessions;
                if let Some(problems) = problems {
                    (self.state.is_loading, self.state.problems) = (false, problems);
                    if items.is_empty() {
                        return Some(Picked::Nothing);
                    }
                    self.background.keep_texts(self.sessions.clone());
                }
                self.state.set_items(items);
                self.highlighted = None;
                self.search_again();
            }
            News::Preview(key, preview) if Some(&key) == self.highlighted.as_ref() => self.preview = Some(preview),
            News::Preview(..) => {}
            // The result of a search for an earlier text may arrive after a key.
            News::Found(request, _) if !self.background.is_current(request) => {}
            News::Found(_, SearchResult::Some(found_messages)) => self.state.add_said(found_messages),
            News::Found(_, SearchResult::All(searched)) => self.state.set_searched(searched),
            News::Checked(session, how, checked) => {
                self.state.busy = None;
                match checked {
                    Ok(()) => return Some(Picked::Sessions(vec![session], how)),
                    Err(refused) => self.state.offer(session.key(), refused),
                }
            }
            News::Command(session, command) => {
                self.state.busy = None;
                match command {
                    Ok(command) => {
                        if let Err(error) = self.copy(&command) {
                            self.state.note = Some(crate::error::reason(&error));
                        }
                    }
                    Err(refused) => self.state.offer(session.key(), refused),
                }
            }
            News::Agents(key, agents) => {
                self.state.busy = None;
                match agents {
                    Ok(ready) => self.state.offer_agents(key, ready),
                    Err(why) => self.state.note = Some(why),
                }
            }
            News::Planned(keys, planned) => {
                self.state.busy = None;
                match planned {
                    Ok(change) => {
                        let is_meant = |at: &usize| keys.contains(&self.state.items[*at].key);
                        let items = (0..self.state.items.len()).filter(is_meant).collect();
                        self.state.mode = Mode::Sure { items, bytes: change.freed_bytes() };
                        self.removal = Some(change);
                    }
                    Err(why) => self.state.note = Some(why),
                }
            }
            News::Removed { gone, words } => {
                self.state.busy = None;
                self.sessions
                    .retain(|session| !gone.iter().any(|(agent, id)| session.agent == *agent && session.id() == *id));
                self.state.remove(&gone);
                self.state.note = Some(words);
            }
            News::Pinned(keys, outcome) => {
                self.state.busy = None;
                let count = crate::format::text::count(keys.len(), "session");
                self.state.note = Some(match outcome {
                    Ok(is_pinned) => {
                        for session in &mut self.sessions {
                            if keys.contains(&session.key()) {
                                Arc::make_mut(session).is_pinned = is_pinned;
                            }
                        }
                        self.state.set_pinned(&keys, is_pinned);
                        self.highlighted = None;
                        format!("{count} {}.", if is_pinned { "pinned" } else { "unpinned" })
                    }
                    Err(why) => why,
                });
            }
        }
        None
    }

    /// Schedules a search of messages after a pause, and cancels the one for the earlier text.
    fn search_again(&mut self) {
        self.background.forget_search();
        self.state.is_searching = false;
        let letters: usize = self.state.query.words().map(|word| word.chars().count()).sum();
        let is_wanted = letters >= SHORTEST_SEARCH && !self.state.is_loading;
        self.search_at = is_wanted.then(|| deadline::after(SEARCH_PAUSE));
    }

    fn search(&mut self) {
        let passing = self.state.items.iter().zip(&self.sessions);
        let passing = passing.filter(|(item, _)| self.state.query.lets_pass(&item.subject));
        let passing: Vec<_> = passing.map(|(_, session)| Arc::clone(session)).collect();
        let is_filtered = passing.len() < self.sessions.len();
        self.background.search(&self.state.query.texts(), passing, is_filtered, self.env);
        self.state.is_searching = true;
    }

    /// Copies text to the terminal's clipboard.
    fn copy(&mut self, text: &str) -> io::Result<()> {
        if text.len() > MAX_COPIED {
            self.state.note = Some("That is too much for a clipboard.".to_owned());
            return Ok(());
        }
        self.screen.draw(&to_clipboard(text))?;
        self.state.note = Some(format!("Copied: {text}"));
        Ok(())
    }

    /// Shows a whole session in a pager; the picker leaves the screen until the pager ends.
    fn open(&mut self, key: &ItemKey) -> io::Result<()> {
        let Some(session) = self.session(key) else { return Ok(()) };
        let backend = self.background.backend();
        let shown = self.screen.aside(|| pager::show_in_pager(self.env, |out| backend.write_whole(&session, out)))?;
        self.painter.forget();
        if let Err(why) = shown {
            self.state.note = Some(why);
        }
        Ok(())
    }
}

/// Returns the bytes that copy text to the terminal's clipboard.
fn to_clipboard(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", BASE64.encode(text))
}

/// The message while sessions are deleted.
const REMOVING: &str = "Deleting";
