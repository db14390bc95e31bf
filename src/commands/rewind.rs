//! `rejoin rewind`

use std::ops::ControlFlow;

use sha2::{Digest as _, Sha256};

use crate::agent;
use crate::agent::rewind::{CutPoint, NewCopy};
use crate::change::plan::change::{Change, ChangeItem, Contents, ItemSubject, Step};
use crate::change::rewinds::Rewound;
use crate::cli::RewindArgs;
use crate::commands::find::{self, Finder};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::slim::Removed;
use crate::format::{shell, text};
use crate::scan::ScanScope;
use crate::session::branches::BranchFilter;
use crate::session::stuck::BranchMessages;
use crate::session::{Session, SessionCopy};
use crate::system::env::Env;
use crate::system::reach;
use crate::view::ui::Ui;

pub(crate) fn run(args: &RewindArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.change.dry_run {
        super::recover_first("rewind", args.change.lock, env, ui)?;
    }
    let filter = super::place_filter(&args.place, env)?;
    super::refuse_number(&args.session)?;
    let session = Finder::new(&filter, ScanScope::RESUME, env, ui).find_one("rewind", &args.session)?.session()?;
    let session = find::with_a_chosen_copy(session, args.copy.as_ref(), env)?;
    let copy = session.copy();
    if args.slim {
        return slim(args, &session, env, ui);
    }
    let branch = args.branch.filter();
    super::messages::check_branch(copy, branch)?;
    let Some(rewind) = agent::about(session.agent).rewind else { return Err(cannot(&session).into()) };
    let (number, total) = cut(copy, branch, args.to)?;
    let Some(number) = number else {
        return Err(Refusal::new(RefusalCode::NotRewindable, "the session has no good reply to go back to")
            .hint(format!("run `rejoin show {} --transcript` to read it", selector(session.id(), &session)))
            .into());
    };
    if number == total && branch == BranchFilter::Active {
        let message = "nothing to rewind: the last message is a good reply";
        return Err(Refusal::new(RefusalCode::NotRewindable, message)
            .hint("name an earlier message with --to, or another branch with --branch")
            .into());
    }
    let cut = CutPoint { branch, messages: number };
    let id = new_id(&session, &format!("{cut:?}"));
    let new = rewind(copy, cut, &id)?;
    let reason = format!("the first {} of {} of {}", number, text::count(total, "message"), session.id());
    write(args, &session, &id, new, reason, env, ui)
}

/// Creates a copy of a session without its largest parts.
fn slim(args: &RewindArgs, session: &Session, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let refused = |message: &str| Refusal::new(RefusalCode::NotRewindable, message);
    let selector = selector(session.id(), session);
    let about = agent::about(session.agent);
    let Some(slim) = about.slim_of(session.copy()) else {
        let message = match about.slim {
            None => format!("rejoin cannot write a smaller session of {}", about.title),
            Some(_) => {
                "the session is a fork or a sub-agent's, or is in several files, and --slim copies one file".into()
            }
        };
        let hint = format!("`rejoin export {selector} -o conversation.md` keeps the conversation");
        return Err(refused(&message).hint(hint).into());
    };
    // If the session has grown since, a new copy is made.
    let copy = session.copy();
    let id = new_id(session, &format!("slim:{}:{}", copy.place.path.display(), copy.transcript_bytes));
    let new = (slim.write)(copy, &id)?;
    let Removed { files, results, repeated } = new.removed;
    if files + results + repeated == 0 {
        let message = "nothing to leave out: no image, file or result of a tool is larger than 16 KiB";
        return Err(refused(message).hint(format!("`rejoin show {selector}` has its size")).into());
    }
    let parts = [
        (files, "image or file", "images and files"),
        (results, "result of a tool", "results of tools"),
        (repeated, "part for the screen", "parts for the screen"),
    ];
    let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
    let parts: Vec<String> =
        parts.map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many })).collect();
    let (before, after) = (copy.transcript_bytes, new.files[0].1.len() as u64);
    let sizes = format!("{} instead of {}", text::size(after), text::size(before));
    let reason = format!("{} without {}: {sizes}", session.id(), parts.join(" and "));
    write(args, session, &id, new, reason, env, ui)
}

/// Writes a new session, and links it to its original.
fn write(
    args: &RewindArgs,
    session: &Session,
    id: &str,
    new: NewCopy,
    reason: String,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let place = new.dir.as_ref().unwrap_or(&new.files[0].0);
    if reach::exists(place) != Some(false) {
        let message = format!("this session was made before, as {}:{id}", session.agent);
        let hint = format!("run `rejoin resume {}`", selector(id, session));
        return Err(Refusal::new(RefusalCode::Exists, message).hint(hint).into());
    }
    let dir = new.dir.into_iter().map(|path| Step::MakeDir { path });
    let files = new.files.into_iter();
    let files = files.map(|(path, bytes)| Step::Write { path, contents: Contents::Bytes(bytes), stamp: None });
    let steps = dir.chain(files).collect();
    let mut item = ChangeItem::new(ItemSubject::Session(session.agent, id.into()), "rewind", reason, steps);
    item.title = session.label().map(Into::into);
    let change = Change::new("rewind", vec![item]);
    let exit = super::change::carry_out(&change, &args.change, args.format, env, ui)?;
    if exit == Exit::Ok && !args.change.dry_run {
        let link = Rewound::new(session, id, env.clock.now);
        if let Err(error) = super::briefing::save_link(&link.file(env), &link, env) {
            ui.warn(&format!("the new session will not be linked to this one: {error}"));
        }
    }
    if exit == Exit::Ok && !args.change.dry_run && args.format.is_table() {
        ui.print_note(&format!(
            "`rejoin resume {}` continues there; {} stays as it is.",
            selector(id, session),
            session.id()
        ));
    }
    Ok(exit)
}

/// Returns the number of messages to keep, and the number in the branch. By default, keeps up to the last good reply.
fn cut(copy: &SessionCopy, branch: BranchFilter, to: Option<u64>) -> anyhow::Result<(Option<u64>, u64)> {
    let (mut watch, mut total, mut last_reply) = (BranchMessages::default(), 0_u64, None);
    if let Some(agent) = agent::by_kind(copy.place.agent()) {
        agent.messages_on(copy, branch, &mut |message| {
            total += 1;
            watch.add_message(&message);
            if watch.is_good() {
                last_reply = Some(total);
            }
            ControlFlow::Continue(())
        })?;
    }
    match to {
        Some(to) if to > total => {
            let message = format!("there is no message {to}; the branch has {}", text::count(total, "message"));
            Err(Refusal::new(RefusalCode::NotFound, message).into())
        }
        Some(to) => Ok((Some(to), total)),
        None => Ok((last_reply, total)),
    }
}

fn cannot(session: &Session) -> Refusal {
    let title = agent::by_kind(session.agent).map_or("", |agent| agent.about().title);
    Refusal::new(RefusalCode::NotRewindable, format!("rejoin cannot write a rewound session of {title}")).hint(format!(
        "run `rejoin resume {}`, and go back in the conversation with the agent's own command",
        selector(session.id(), session)
    ))
}

/// Returns the selector of a session for a shell.
fn selector(id: &str, session: &Session) -> String {
    shell::word(&format!("{}:{id}", session.agent)).into_owned()
}

/// Derives an id from the kept messages, so that a repeated call makes the same session.
fn new_id(session: &Session, kept: &str) -> String {
    let digest = Sha256::digest(format!("{}:{}:{kept}", session.agent, session.id()));
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    // The version and the variant of a name-based UUID.
    bytes[6] = bytes[6] & 0x0f | 0x50;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
