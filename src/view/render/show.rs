//! One session in full, for users.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use crate::agent;
use crate::agent::command::LaunchPlan;
use crate::error::Refusal;
use crate::format::command_line::{all_in_home, in_home};
use crate::format::{shell, text, wrap};
use crate::scan::LONG_TO_COUNT;
use crate::session::branches::Branch;
use crate::session::facts::FieldValue;
use crate::session::fields::Field;
use crate::session::marks::Mark;
use crate::session::tag::Tag;
use crate::session::{Fact, Liveness, Message, Role, Session, SessionCopy};
use crate::system::env::Env;
use crate::system::reach;
use crate::view::render::{fields, stats, table};
use crate::view::ui::Styles;

/// Maximum characters of the prompt in the summary on a terminal; `--messages` shows the whole.
const MAX_PROMPT: usize = 300;
/// Minimum width of the text column.
const NARROWEST: usize = 20;

/// Formats the value of a field for users; a long text is cut.
pub(super) fn words(value: &FieldValue<'_>, env: &Env) -> String {
    match value {
        FieldValue::Text(text) => text::truncated(&text::one_line(text), env.terminal.room(MAX_PROMPT)).into_owned(),
        FieldValue::Time(at) => table::moment(*at, env),
        value => fields::words(value, env),
    }
}

/// Writes all facts about a session, and its resume command or the reason why there is none.
pub(crate) fn session(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    session: &Session,
    ready: &Result<LaunchPlan, Refusal>,
) -> io::Result<()> {
    let copy = session.copy();
    let mut page = ShowPage { out, env, styles };
    let Styles { strong, .. } = styles;
    writeln!(page.out, "{} {strong}{}{strong:#}", session.agent, text::one_line(session.id()))?;
    page.fact("title", session, Field::OwnTitle)?;
    page.fact("first prompt", session, Field::FirstPrompt)?;
    page.line("kind", Mark::Kind(copy.kind).word())?;
    page.fact("parent", session, Field::ParentId)?;
    if let Some(origin) = &session.continues {
        page.line("continues", &format!("{} {}", origin.agent, text::one_line(&origin.id)))?;
    }
    if let Some(id) = &session.rewound_as {
        page.line("rewound as", &format!("{} {}", session.agent, text::one_line(id)))?;
    }
    let exists = match session.launch_dir_exists {
        Some(true) => ", exists",
        Some(false) => ", does not exist here",
        // The directory of an archived session is not checked, and one on a silent mount is not checked again.
        None if session.launch_dir().is_some_and(|dir| !reach::answers(dir)) => ", not known to exist",
        None => "",
    };
    let is_one_dir = is_one_dir(copy);
    let agrees = if is_one_dir { "; every record agrees" } else { "" };
    match &copy.launch_dir {
        Some(dir) => page.line("launch dir", &format!("{}  ({}{exists}{agrees})", path(&dir.value), dir.source))?,
        None => page.line("launch dir", "unknown: no recorded directory belongs to its project")?,
    }
    if !is_one_dir {
        page.fact("started in", session, Field::StartDir)?;
        page.fact("last in", session, Field::LastDir)?;
    }
    page.fact("created", session, Field::Created)?;
    page.fact("active", session, Field::Active)?;
    page.line("size", &text::size(copy.size_bytes))?;
    if session.rewound_as.is_none() && agent::about(session.agent).can_slim(copy) {
        let name = shell::selector(session.agent, session.id());
        let command = in_home(&format!("rejoin rewind {name} --slim"), &env.invocation.elsewhere).into_owned();
        page.line("", &format!("`{command}` makes a session without images and long results"))?;
    }
    if let (Some(prompts), Some(replies)) = (copy.prompts, copy.replies) {
        page.line(
            "messages",
            &format!("{prompts} {}, {replies} {}", plural("prompt", prompts), plural("reply", replies)),
        )?;
    } else if copy.transcript_bytes > LONG_TO_COUNT {
        let name = shell::selector(session.agent, session.id());
        let counts = format!("rejoin show --counts {name}");
        let counts = in_home(&counts, &env.invocation.elsewhere);
        page.line("messages", &format!("not counted, because that takes long; `{counts}` counts them"))?;
    }
    if let Some(tokens) = copy.usage.as_ref().and_then(|usage| usage.tokens.as_ref()) {
        page.line("tokens", &stats::in_words(tokens).join(", ").replace(" tokens", ""))?;
    }
    page.fact("cost", session, Field::Cost)?;
    page.fact("model", session, Field::Model)?;
    page.fact("git branch", session, Field::Branch)?;
    match &copy.liveness {
        Liveness::Idle => page.line("in use", "no")?,
        Liveness::Maybe { why } => page.line("in use", &format!("maybe: {why}"))?,
        Liveness::Live { pid } => {
            page.line("in use", &format!("yes, by {}", table::holder(session, *pid, env.clock.now)))?
        }
    }
    if session.is_pinned {
        page.line("pinned", "yes")?;
    }
    if let Some(kept_by) = session.kept_by() {
        page.line("kept", &text::one_line(&format!("{kept_by}, so no cleanup and no delete removes it")))?;
    }
    if !session.tags.is_empty() {
        page.line("tags", &session.tags.iter().map(Tag::word).collect::<Vec<_>>().join(", "))?;
    }
    if let Some(at) = session.expires_at {
        let when = if at <= env.clock.now {
            format!("{} deletes it when it next starts", session.agent)
        } else {
            format!("{} deletes it from {} on", session.agent, env.clock.local_time(at))
        };
        let name = shell::selector(session.agent, session.id());
        let archive = format!("rejoin archive {name}");
        page.warning("expires", &format!("{when}; `{}` keeps it", in_home(&archive, &env.invocation.elsewhere)))?;
    }
    for pointer in &session.pointers {
        let name = pointer.name.as_deref().map(|name| format!(" ({})", text::one_line(name))).unwrap_or_default();
        page.line("pointer", &format!("{} of {}{name}", path(&pointer.path), pointer.agent))?;
    }
    for health in session.health.iter() {
        page.warning("problem", &format!("{}: {}", health.code(), health.meaning()))?;
    }
    for note in &copy.notes {
        page.line("note", &text::one_line(note))?;
    }
    page.copies(session)?;
    if !is_one_dir {
        page.evidence(copy)?;
    }
    match ready {
        Ok(plan) => {
            let elsewhere = &env.invocation.elsewhere;
            // The shell of the other host may not find the agent's program; rejoin searches for it.
            let name = shell::selector(session.agent, session.id());
            let ours = in_home(&format!("rejoin resume {name}"), elsewhere).into_owned();
            let through_us = elsewhere.host.is_some().then(|| ours.clone());
            match through_us.or_else(|| plan.shell_line(env)) {
                Some(line) if text::unbroken(&line) == line => page.line("resume", &line)?,
                _ => page.warning("resume", &format!("its command cannot be printed; `{ours}` runs it"))?,
            }
            if let Some(words) = &plan.then_type {
                page.line("then type", &text::one_line(words))?;
            }
        }
        Err(refusal) => {
            page.warning("resume", &format!("refused: {}", refusal.message))?;
            let hint = refusal.hint.as_deref().unwrap_or_default();
            // Such a hint names this command first, so it is left out.
            let own = format!("`rejoin show {}`", shell::selector(session.agent, session.id()));
            let rest = hint.split_once("; ").filter(|(first, _)| first.ends_with(&own));
            let hint = all_in_home(rest.map_or(hint, |(_, rest)| rest), &env.invocation.elsewhere);
            let hint = text::printable(&hint);
            for line in hint.lines() {
                // Lines of a list below a sentence stay indented.
                page.line("", &line.replacen("      ", "  ", 1))?;
            }
        }
    }
    Ok(())
}

/// Returns whether all facts about the session's directory name its launch directory.
fn is_one_dir(copy: &SessionCopy) -> bool {
    let Some(launch) = &copy.launch_dir else { return false };
    let mut recorded = copy.start_dir.iter().chain(&copy.last_dir);
    let is_filed_there = copy.is_filed_right && copy.evidence.iter().all(|it| it.counts && it.dir == launch.value);
    copy.start_dir.is_some() && is_filed_there && recorded.all(|dir| dir.value == launch.value)
}

/// Writes one message of a conversation.
pub(crate) fn message(out: &mut impl Write, env: &Env, styles: &Styles, message: &Message) -> io::Result<()> {
    let Styles { header, found, faint, .. } = styles;
    let at = message.at.map(|at| format!("  {}", env.clock.local_time(at))).unwrap_or_default();
    let is_user = message.role == Role::User;
    let (style, gutter) = if is_user { (found, ">") } else { (header, " ") };
    let branch = message.branch.map(|number| format!("  (branch {number})")).unwrap_or_default();
    writeln!(out, "{style}{}{style:#}{faint}{at}{branch}{faint:#}", message.role.name())?;
    for line in text::printable(message.text.trim_end()).lines() {
        for line in wrapped(line, env) {
            writeln!(out, "{style}{gutter}{style:#} {line}")?;
        }
    }
    writeln!(out)
}

/// Breaks a line between words if it does not fit the screen after the gutter.
fn wrapped(line: &str, env: &Env) -> Vec<String> {
    let room = env.terminal.screen_width().map(|width| usize::from(width).saturating_sub(2));
    room.map_or_else(|| vec![line.to_owned()], |room| wrap::broken(line, room.max(NARROWEST), 0))
}

struct ShowPage<'a, W> {
    out: &'a mut W,
    env: &'a Env,
    styles: &'a Styles,
}

impl<W: Write> ShowPage<'_, W> {
    fn line(&mut self, name: &str, value: &str) -> io::Result<()> {
        let header = self.styles.header;
        writeln!(self.out, "  {header}{name:<12}{header:#}  {value}")
    }

    fn warning(&mut self, name: &str, value: &str) -> io::Result<()> {
        let style = self.styles.warning;
        self.line(name, &format!("{style}{}{style:#}", text::one_line(value)))
    }

    /// Writes a fact, and its source if it was read.
    fn fact(&mut self, name: &str, session: &Session, field: Field) -> io::Result<()> {
        let Some(Fact { value, source }) = field.fact(session) else { return Ok(()) };
        let source = if source.is_empty() { String::new() } else { format!("  ({source})") };
        self.line(name, &format!("{}{source}", words(&value, self.env)))
    }

    fn copies(&mut self, session: &Session) -> io::Result<()> {
        for (at, copy) in session.copies.iter().enumerate() {
            let name = if at == 0 { "stored in" } else { "" };
            self.line(name, &path(&copy.place.path))?;
            let active = text::ago(copy.active_at.as_ref().map(|at| at.value), self.env.clock.now);
            if session.copies.len() > 1 {
                let messages = copy
                    .prompts
                    .zip(copy.replies)
                    .map(|(prompts, replies)| format!(", {} messages", prompts + replies));
                let compared = session.choice.comparisons.get(at).copied().flatten();
                let compared = compared.map(|compared| format!("; {compared}")).unwrap_or_default();
                let size = text::size(copy.size_bytes);
                self.line(
                    "",
                    &format!(
                        "  copy {}: {size}{}, active {active}{compared}",
                        session.number_of(at),
                        messages.unwrap_or_default()
                    ),
                )?;
            }
            if at == 0 && session.choice.is_decided {
                self.line("", &format!("  chosen: {}", session.choice.why))?;
            } else if at == 0 {
                self.warning("", &format!("  no copy chosen: {}", session.choice.why))?;
            }
        }
        Ok(())
    }

    fn evidence(&mut self, copy: &SessionCopy) -> io::Result<()> {
        if copy.evidence.len() < 2 && copy.is_filed_right {
            return Ok(());
        }
        for (at, evidence) in copy.evidence.iter().enumerate() {
            let name = if at == 0 { "evidence" } else { "" };
            let verdict = if evidence.counts { "counts" } else { "does not count: it belongs to another project" };
            self.line(name, &format!("{}  ({}; {verdict})", path(&evidence.dir), text::one_line(&evidence.detail)))?;
        }
        Ok(())
    }
}

fn path(path: &Path) -> String {
    text::unbroken(&path.to_string_lossy()).into_owned()
}

fn plural(word: &str, count: u64) -> String {
    match (count, word.strip_suffix('y')) {
        (1, _) => word.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        _ => format!("{word}s"),
    }
}

/// Formats a session within a sentence: agent, short id, title.
pub(crate) fn in_words(session: &Session) -> String {
    format!("{} session {} ({})", session.agent, session.id(), text::truncated(&table::title(session), 60))
}

/// Maximum columns of a message on a line.
const WIDEST: usize = 60;

/// Writes the branches as text.
pub(crate) fn branches(out: &mut impl Write, env: &Env, styles: &Styles, branches: &[Branch]) -> io::Result<()> {
    let Styles { header, faint, .. } = styles;
    for branch in branches {
        let Branch { number, messages, .. } = branch;
        let resumed = match branch {
            Branch { is_active: true, .. } => ", which a resume continues",
            Branch { is_cut_off: true, .. } => ", which a missing parent cuts off from branch 1",
            _ => "",
        };
        let from = branch.begun_at.map(|at| format!(" from {}", env.clock.local_time(at))).unwrap_or_default();
        let to = branch.ended_at.map(|at| format!(" to {}", env.clock.local_time(at))).unwrap_or_default();
        let messages = text::count(*messages, "message");
        writeln!(out, "{header}branch {number}{header:#}{resumed}: {messages}{faint}{from}{to}{faint:#}")?;
        let after = branch.after.as_deref().map(|after| ("after", after));
        let first = branch.first.as_deref().map(|first| ("begins", first));
        for (name, said) in after.into_iter().chain(first) {
            writeln!(out, "  {name:<6}  {}", short(said))?;
        }
    }
    Ok(())
}

fn short(message_text: &str) -> Cow<'_, str> {
    let line = message_text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    text::truncated(&text::one_line(line), WIDEST).into_owned().into()
}
