//! `rejoin show`

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::ops::ControlFlow;

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use super::find::{self, Target};
use crate::agent::{self};
use crate::cli::{Format, ShowArgs};
use crate::env::Env;
use crate::error::{Exit, Refusal};
use crate::launch::{self, Request};
use crate::render::json::{
    EvidenceJson, FORMAT_VERSION, MessageJson, SessionDetailsJson, SessionJson, ShowSummaryJson,
};
use crate::render::show;
use crate::scan::Wanted;
use crate::session::{Message, Session};
use crate::ui::Ui;

pub(crate) fn run(args: &ShowArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let filter = super::filter(&args.filter, None, true, env);
    if args.archived {
        return super::archive::show(args, &filter, env, ui);
    }
    let wants_all_only = args.transcript && args.format.get() == Format::Table;
    let wanted = Wanted { counts: !wants_all_only, ..Wanted::THOROUGH };
    let found = match find::one(&args.session, &filter, wanted, env, ui) {
        Err(error) if args.copy.is_none() && is_not_found(&error) => {
            // It may be in the archive alone; if it is not, what is said of the stores counts.
            return match super::archive::show(args, &filter, env, ui) {
                Err(in_archive) if is_not_found(&in_archive) => Err(error),
                shown => shown,
            };
        }
        found => found?,
    };
    let mut session = match found {
        Target::Session(session) => *session,
        Target::LostApp(pointer) => {
            let message = format!("the session that {} points to is found nowhere", pointer.path.display());
            return Err(Refusal::new(Exit::NotFound, "not-found", message).into());
        }
    };
    if let Some(copy) = &args.copy {
        find::take_copy(&mut session, copy, env)?;
    }
    if let Some(agent) = agent::by_kind(session.agent) {
        agent.verify(&mut session.copies[0], env);
        session.assess();
    }
    super::mark_pins(std::slice::from_mut(&mut session), env, ui);
    let wants = match (args.messages, args.transcript) {
        (Some(count), _) => Messages::Last(count),
        (None, true) => Messages::All,
        (None, false) => Messages::None,
    };
    match args.format.get() {
        Format::Table => write_text(&session, &wants, wants_all_only, env, ui)?,
        Format::Json => {
            serde_json::to_writer(ui.data(), &details(&session, &wants, env))?;
            writeln!(ui.data())?;
        }
        Format::Ndjson => write_ndjson(&session, &wants, env, ui)?,
    }
    ui.flush()?;
    Ok(Exit::Ok)
}

fn is_not_found(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.exit == Exit::NotFound)
}

/// Which messages were asked for.
enum Messages {
    None,
    Last(usize),
    All,
}

/// Shows the wanted messages; what `see` reports as an error ends the stream.
fn each_message<E: From<crate::error::PathError>>(
    session: &Session,
    wants: &Messages,
    mut see: impl FnMut(&Message) -> Result<(), E>,
) -> Result<(), E> {
    let Some(agent) = agent::by_kind(session.agent) else { return Ok(()) };
    let mut outcome = Ok(());
    match wants {
        Messages::None => {}
        Messages::All => agent.messages(session.copy(), &mut |message| {
            outcome = see(&message);
            if outcome.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?,
        Messages::Last(count) => {
            let mut last = VecDeque::with_capacity((*count).min(1024));
            agent.messages(session.copy(), &mut |message| {
                last.push_back(message);
                if last.len() > *count {
                    last.pop_front();
                }
                ControlFlow::Continue(())
            })?;
            outcome = last.iter().try_for_each(see);
        }
    }
    outcome
}

fn write_text(session: &Session, wants: &Messages, messages_only: bool, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
    let styles = ui.styles;
    if !messages_only {
        let plan = launch::plan(session, &Request::default(), env);
        show::session(ui.data(), env, &styles, session, &plan)?;
        if !matches!(wants, Messages::None) {
            writeln!(ui.data())?;
        }
    }
    each_message(session, wants, |message| Ok(show::message(ui.data(), env, &styles, message)?))
}

fn write_ndjson(session: &Session, wants: &Messages, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
    // The header is the answer without its messages, which follow line by line.
    serde_json::to_writer(ui.data(), &details(session, &Messages::None, env))?;
    writeln!(ui.data())?;
    let mut count = 0_u64;
    each_message(session, wants, |message| -> anyhow::Result<()> {
        count += 1;
        serde_json::to_writer(ui.data(), &MessageJson::from(message))?;
        Ok(writeln!(ui.data())?)
    })?;
    serde_json::to_writer(ui.data(), &ShowSummaryJson { kind: "summary", messages: count })?;
    Ok(writeln!(ui.data())?)
}

/// The answer as one object whose messages are streamed, so that a long transcript is never held.
fn details<'a>(session: &'a Session, wants: &'a Messages, env: &'a Env) -> impl Serialize + 'a {
    struct Details<'a>(&'a Session, &'a Messages, &'a Env);
    impl Serialize for Details<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let Self(session, wants, env) = self;
            let plan = launch::plan(session, &Request::default(), env).ok();
            let answer = SessionDetailsJson {
                format_version: FORMAT_VERSION,
                kind: "session",
                session: SessionJson::new(session, plan.as_ref()),
                sources: sources(session),
                evidence: session.copy().evidence.iter().map(EvidenceJson::from).collect(),
                notes: &session.copy().notes,
                messages: Stream(session, wants),
            };
            answer.serialize(serializer)
        }
    }
    Details(session, wants, env)
}

/// The wanted messages as a JSON array, or `null` when none are wanted.
struct Stream<'a>(&'a Session, &'a Messages);

impl Serialize for Stream<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if matches!(self.1, Messages::None) {
            return serializer.serialize_none();
        }
        let list = RefCell::new(serializer.serialize_seq(None)?);
        each_message(self.0, self.1, |message| {
            list.borrow_mut().serialize_element(&MessageJson::from(message)).map_err(Stopped::Output)
        })
        .map_err(|stopped| match stopped {
            Stopped::Output(error) => error,
            Stopped::Input(error) => serde::ser::Error::custom(error),
        })?;
        list.into_inner().end()
    }
}

/// Why a stream of messages ended early.
enum Stopped<E> {
    Output(E),
    Input(crate::error::PathError),
}

impl<E> From<crate::error::PathError> for Stopped<E> {
    fn from(error: crate::error::PathError) -> Self {
        Self::Input(error)
    }
}

fn sources(session: &Session) -> BTreeMap<&str, &str> {
    let copy = session.copy();
    let texts = [
        ("title", &copy.title),
        ("first_prompt", &copy.first_prompt),
        ("model", &copy.model),
        ("git_branch", &copy.git_branch),
    ];
    let dirs = [("launch_dir", &copy.launch_dir), ("start_dir", &copy.start_dir), ("last_dir", &copy.last_dir)];
    let times = [("created_at", &copy.created_at), ("active_at", &copy.active_at)];
    let texts = texts.into_iter().filter_map(|(name, fact)| Some((name, fact.as_ref()?.source)));
    let dirs = dirs.into_iter().filter_map(|(name, fact)| Some((name, fact.as_ref()?.source)));
    let times = times.into_iter().filter_map(|(name, fact)| Some((name, fact.as_ref()?.source)));
    texts.chain(dirs).chain(times).collect()
}
