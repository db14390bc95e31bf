//! `rejoin dedupe`

use std::collections::HashMap;
use std::path::PathBuf;

use crate::agent;
use crate::cli::DedupeArgs;
use crate::commands::find::{self, CopyCommand};
use crate::doctor::repair;
use crate::doctor::survey::file_only_in;
use crate::error::{Candidate, Exit, Refusal, RefusalCode};
use crate::format::command_line;
use crate::format::text::{count, one_line, truncated};
use crate::scan::missing::{Missing, missing};
use crate::scan::{Wanted, processes};
use crate::session::{Comparison, Message, Session, SessionCopy};
use crate::system::env::Env;
use crate::view::ui::Ui;

/// Maximum columns of a message that a question quotes.
const QUOTED: usize = 40;

pub(crate) fn run(args: &DedupeArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.change.dry_run {
        super::recover_first("dedupe", args.change.lock, env, ui)?;
    }
    super::refuse_number(&args.session)?;
    let filter = super::place_filter(&args.place, env)?;
    let mut session =
        find::Finder::new(&filter, Wanted::RESUME, env, ui).one("keep a copy", &args.session)?.session()?;
    processes::verify_for_change(std::slice::from_mut(&mut session));
    if session.copies.len() == 1 {
        ui.note(&format!("{} session {} has only one copy, so there is nothing to do.", session.agent, session.id()));
    }
    let described = descriptions(&session, env);
    let session = with_the_kept_copy(session, args, env, ui)?;
    let change = repair::keep_first(&session).map_err(|unable| {
        let message = format!("{} session {} cannot be reduced to one copy: {unable}", session.agent, session.id());
        Refusal { hint: unable.hint, ..Refusal::new(RefusalCode::NotRemovable, message) }
    })?;
    if !args.yes && !args.change.dry_run && args.change.apply.is_none() {
        ask(&session, &described, env, ui)?;
    }
    super::change::carry_out(&change, &args.change, args.format, env, ui)
}

/// Moves the copy to the front that the option names, or that the user chooses at the terminal.
fn with_the_kept_copy(mut session: Session, args: &DedupeArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Session> {
    let named = |mut refusal: Refusal| {
        // This command has another name for the option than other commands.
        refusal.candidates.iter_mut().for_each(|one| one.select = one.select.replace(" --copy ", " --keep "));
        refusal
    };
    match &args.keep {
        Some(keep) => {
            find::take_copy(&mut session, keep, env).map_err(named)?;
            Ok(session)
        }
        None if session.copies.len() == 1 => Ok(session),
        None if find::can_pick(&env.terminal) => {
            let copies = session.copies.len();
            let why = format!("{} session {} has {copies} copies. Which one is kept?", session.agent, session.id());
            find::choose_a_copy(session, why, CopyCommand { verb: "dedupe", option: "--keep" }, env, ui)
        }
        None => {
            let refusal = Refusal::new(RefusalCode::Usage, "no copy was named, and there is no terminal to ask on");
            let command = command_line::again(env, &[], &["--keep", "1"]);
            let hint = format!("keep the first copy with `{command}`; the other numbers mean the other copies");
            Err(named(refusal.hint(hint).candidates(find::candidates(&session, false, env))).into())
        }
    }
}

/// Describes the copies by their paths; their numbers are those from before one was chosen.
fn descriptions(session: &Session, env: &Env) -> HashMap<String, String> {
    let copies = find::candidates(session, false, env);
    let described = |one: Candidate| {
        let described = find::description(&Candidate { differs: None, ..one.clone() });
        Some((one.path, described?))
    };
    copies.into_iter().filter_map(described).collect()
}

/// Asks before removing a copy that has data which the kept one lacks.
fn ask(session: &Session, described: &HashMap<String, String>, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
    let (kept, others) = (session.copy(), &session.copies[1..]);
    let compared = |copy| agent::by_kind(session.agent)?.compare(kept, copy);
    let is_contained = |copy| matches!(compared(copy), Some(Comparison::Identical | Comparison::Longer { .. }));
    let files: Vec<Option<PathBuf>> = others.iter().map(|copy| file_only_in(copy, kept)).collect();
    if others.iter().all(is_contained) && files.iter().all(Option::is_none) {
        return Ok(());
    }
    let name = |copy: &SessionCopy| described.get(&*copy.place.path.to_string_lossy()).cloned().unwrap_or_default();
    let mut about = vec![format!("keep    {}", name(kept))];
    for (copy, file) in others.iter().zip(files) {
        about.push(format!("remove  {}", name(copy)));
        about.push(format!("        {}", only_there(missing(kept, copy).map_err(|error| error.to_string()))));
        about.extend(file.map(|path| format!("        only there: {}", env.tilde(&path))));
    }
    let question = match others {
        [one] => {
            let name = name(one);
            format!("Move {} to the trash?", name.split(':').next().unwrap_or_default())
        }
        others => format!("Move {} copies to the trash?", others.len()),
    };
    super::confirm_or_refuse(&about, &question, env, ui)
}

/// Names the messages that only the copy has.
fn only_there(missing: Result<Missing, String>) -> String {
    let quoted = |message: Option<Message>| {
        let text = message.map(|message| message.text).unwrap_or_default();
        format!("\"{}\"", truncated(&one_line(text.trim()), QUOTED))
    };
    match missing {
        Err(why) => format!("its messages cannot be compared: {why}"),
        Ok(Missing { count: 0, .. }) => "has no message that the kept copy lacks".to_owned(),
        Ok(Missing { count: 1, first, .. }) => format!("only there: 1 message, {}", quoted(first)),
        Ok(Missing { count: many, first, last }) => {
            format!("only there: {}, from {} to {}", count(many, "message"), quoted(first), quoted(last))
        }
    }
}
