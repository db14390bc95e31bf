//! `rejoin tag`

use crate::change::plan::change::{Change, ChangeItem, Contents, ItemSubject, Step, short_title};
use crate::change::tags::{FILE_NAME, Tags};
use crate::cli::{TagArgs, TagArgument};
use crate::commands::find::Finder;
use crate::commands::pin::{self, Label};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::text;
use crate::scan::ScanScope;
use crate::session::Session;
use crate::session::fields::Field;
use crate::session::tag::Tag;
use crate::system::env::Env;
use crate::system::stamp;
use crate::system::state_file;
use crate::view::ui::Ui;

const TAGGED: Label = Label { mark: "tagged", fields: &Field::OF_TAGGED, forget: None };

pub(crate) fn run(args: &TagArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.list {
        let tags = Tags::read(env)?;
        return pin::list(&tags.sessions().collect::<Vec<_>>(), &TAGGED, &args.place, args.format, env, ui);
    }
    let (mut selectors, mut added, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    for argument in args.arguments.iter().cloned() {
        match argument {
            TagArgument::Session(selector) => selectors.push(selector),
            TagArgument::Add(tag) => added.push(tag),
            TagArgument::Remove(tag) => removed.push(tag),
        }
    }
    let refuse = |message: &str| Refusal::new(RefusalCode::Usage, message);
    let example = "for example, run `rejoin tag SESSION +WORD -WORD`";
    if selectors.is_empty() {
        return Err(refuse("no session is named").hint(example).into());
    }
    if added.is_empty() && removed.is_empty() {
        return Err(refuse("name a tag: +WORD adds one, and -WORD removes it").hint(example).into());
    }
    if let Some(both) = added.iter().find(|tag| removed.contains(tag)) {
        return Err(refuse(&format!("the tag {} is added and removed", both.word())).into());
    }
    if !args.change.dry_run {
        super::recover_first("tag", args.change.lock, env, ui)?;
    }
    let filter = super::place_filter(&args.place, env)?;
    let sessions = Finder::new(&filter, ScanScope::GLANCE, env, ui).find_all("tag", &selectors)?;
    let plan = || plan(sessions, &added, &removed, env);
    super::change::carry_out_locked("tag", plan, &args.change, args.format, env, ui)
}

/// Plans to change the tags of sessions.
fn plan(mut changed: Vec<Session>, added: &[Tag], removed: &[Tag], env: &Env) -> anyhow::Result<Change> {
    let path = env.state_dir().join(FILE_NAME);
    let stamp = stamp::take_if_present(&path)?.map(Box::new);
    let mut tags = Tags::read(env)?;
    changed.retain(|session| tags.change(session.agent, session.id(), added, removed));
    let mut change = Change::new("tag", Vec::new());
    if let Some(first) = changed.first() {
        let step = Step::Write { path, contents: Contents::Bytes(state_file::to_json(&tags)?), stamp };
        let about = match changed.as_slice() {
            [only] => ItemSubject::from(only),
            many => ItemSubject::Other(text::count(many.len(), "session").into()),
        };
        let mut item = ChangeItem::new(about, "tag", in_words(added, removed), vec![step]);
        item.title = first.label().filter(|_| changed.len() == 1).map(short_title);
        change.items.push(item);
    }
    Ok(change)
}

/// Formats the tags as they are typed: `+shop -later`.
fn in_words(added: &[Tag], removed: &[Tag]) -> String {
    let removed = removed.iter().map(|tag| format!("-{}", tag.word()));
    added.iter().map(Tag::to_string).chain(removed).collect::<Vec<_>>().join(" ")
}
