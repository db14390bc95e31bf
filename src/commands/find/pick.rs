//! Lets the user pick on the terminal: without a selector, or if a selector matches several sessions.

use std::sync::Arc;

use anyhow::Context as _;

use super::backend::SessionBackend;
use super::copies::{candidates, description, take_copy, with_a_chosen_copy};
use super::{Finder, SelectorTarget, again};
use crate::commands::no_match;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::command_line::in_home;
use crate::format::shell;
use crate::launch::resume::Resume;
use crate::session::Session;
use crate::session::select::CopySelector;
use crate::system::env::{Env, Terminal};
use crate::view::pick::{self, Backend, How, Picked, Purpose, Ready, RefusedResume, UserChoice};
use crate::view::ui::Ui;

/// The choice of the user.
#[derive(Debug)]
pub(crate) enum PickAnswer {
    /// These sessions, and the choices for their resume.
    Sessions(Vec<Arc<Session>>, How),
    /// The user left the picker; the run ends with this status.
    Left(Exit),
}

/// Returns whether the user can be asked to pick: at a terminal that can show a list.
pub(crate) fn can_pick(terminal: &Terminal) -> bool {
    why_nobody_picks(terminal).is_none()
}

/// Returns the reason why the picker cannot be used, or `None`.
pub(crate) fn why_nobody_picks(terminal: &Terminal) -> Option<&'static str> {
    if !terminal.can_ask() {
        return Some("there is no terminal to pick one from");
    }
    terminal.is_dumb.then_some("this terminal cannot show a list to pick from")
}

/// Refuses with a usage error if the picker cannot be used.
pub(crate) fn needs_a_picker(terminal: &Terminal) -> Result<(), Refusal> {
    let Some(why) = why_nobody_picks(terminal) else { return Ok(()) };
    let refusal = Refusal::new(RefusalCode::Usage, format!("no SESSION was given, and {why}"));
    Err(refusal.hint("name a session, or use `latest` for the newest; run `rejoin list` to see them"))
}

/// Lets the user pick from the sessions that pass the filters of the backend; `words` is the first search text.
pub(crate) fn picked(
    backend: SessionBackend,
    purpose: Purpose,
    words: &str,
    ui: &mut Ui,
) -> anyhow::Result<PickAnswer> {
    let (env, filter) = (backend.env.clone(), backend.filter.clone());
    let backend: Arc<dyn Backend> = Arc::new(backend);
    match pick::pick(&backend, purpose, words, &env, ui.err_styles()).context("cannot use the terminal")? {
        Picked::Sessions(sessions, how) => Ok(PickAnswer::Sessions(sessions, how)),
        Picked::Left(exit) => Ok(PickAnswer::Left(exit)),
        Picked::Nothing => Err(no_match::instead(super::nothing_passes().into(), &filter, &env)),
    }
}

/// Returns the first search text of the picker, if the user can choose there instead of getting an error.
pub(crate) fn words_to_pick(error: &anyhow::Error, terminal: &Terminal) -> Option<String> {
    let words = error.downcast_ref::<Refusal>()?.picker.clone();
    words.filter(|_| can_pick(terminal) && terminal.stdout)
}

impl Finder<'_> {
    /// Returns the found session, or lets the user pick one if a name matches several, or may be in a message. `verb` is
    /// the action of enter.
    pub(crate) fn or_picked(
        &mut self,
        found: anyhow::Result<SelectorTarget>,
        verb: &'static str,
    ) -> anyhow::Result<SelectorTarget> {
        let error = match found {
            Err(error) => error,
            found => return found,
        };
        let Self { filter, env, scope: requested, .. } = *self;
        let Some(words) = words_to_pick(&error, &env.terminal) else { return Err(error) };
        let purpose = Purpose { verb, takes_several: false, is_checked: false };
        match picked(SessionBackend::new(filter, env), purpose, &words, self.ui)? {
            PickAnswer::Sessions(sessions, _) => {
                let session = sessions.first().context("nothing chosen")?;
                Ok(SelectorTarget::Session(Box::new(again(session, requested, env)?)))
            }
            PickAnswer::Left(exit) => Err(nothing_picked(exit).into()),
        }
    }
}

fn nothing_picked(exit: Exit) -> Refusal {
    Refusal { exit, ..Refusal::new(RefusalCode::NothingPicked, "nothing chosen") }
}

/// Returns a session with the wanted copy first, or else with the one that evidence ranks first or that the user chooses at
/// the terminal.
pub(crate) fn with_a_copy(
    session: Session,
    requested: Option<&CopySelector>,
    verb: &'static str,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Session> {
    let refusal = match with_a_chosen_copy(session.clone(), requested, env) {
        Err(refusal) if refusal.code == RefusalCode::AmbiguousCopy => refusal,
        found => return Ok(found?),
    };
    if !(can_pick(&env.terminal) && env.terminal.stdout) {
        return Err(refusal.into());
    }
    choose_a_copy(session, refusal.message, verb, env, ui)
}

/// Lets the user choose another directory for a session at the terminal, if its own is gone or unknown. `None` if the
/// refusal has another reason, or the terminal cannot show a list.
pub(crate) fn another_dir(
    backend: &SessionBackend,
    session: &Session,
    resume: &Resume,
    refusal: &Refusal,
    ui: &mut Ui,
) -> anyhow::Result<Option<How>> {
    use RefusalCode::{MissingDirectory, NotADirectory, UnknownDirectory};
    let is_of_dir = matches!(refusal.code, MissingDirectory | NotADirectory | UnknownDirectory);
    let terminal = &backend.env.terminal;
    if !(is_of_dir && can_pick(terminal) && terminal.stdout) {
        return Ok(None);
    }
    let mut refused = backend.refused(session, refusal, Some(resume), &How::default());
    if refused.ready.iter().all(|ready| ready.how.is_none()) {
        return Ok(None);
    }
    // The last way shows the session in the pager, which only the picker has.
    refused.ready.pop();
    match pick::choose(session, refused, ui.err_styles()).context("cannot use the terminal")? {
        UserChoice::Way(how) => Ok(Some(how)),
        UserChoice::Left(exit) => Err(nothing_picked(exit).into()),
    }
}

/// Lets the user choose a copy of a session at the terminal; `verb` is the command that takes it.
fn choose_a_copy(
    mut session: Session,
    why: String,
    verb: &'static str,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Session> {
    let name = shell::selector(session.agent, session.id());
    let copies = candidates(&session, false, env);
    let ready = copies.iter().filter_map(|one| {
        let line = format!("rejoin {verb} {name} --copy {}", one.copy?);
        let line = in_home(&line, &env.invocation.elsewhere).into_owned();
        Some(Ready { line, why: description(one)?, how: Some(How { copy: one.copy, ..How::default() }) })
    });
    let refused = RefusedResume { why, ready: ready.collect() };
    match pick::choose(&session, refused, ui.err_styles()).context("cannot use the terminal")? {
        UserChoice::Way(how) => {
            let number = how.copy.context("nothing chosen")?;
            take_copy(&mut session, &CopySelector::Number(number), env)?;
            Ok(session)
        }
        UserChoice::Left(exit) => Err(nothing_picked(exit).into()),
    }
}
