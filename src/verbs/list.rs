//! The entries of the registry, in the order of the help.

/// Passes the list of commands to a macro.
///
/// An entry has the help text, the name with the type of its arguments in `cli`, its module in `commands`, and in braces: its
/// group; `main` if `rejoin help` lists it and `more` if only `rejoin help all` does; `reads`, or `changes` if it may change a
/// file of an agent or of rejoin or start a program; the related commands; words that users of other programs may type, each with the
/// command to use instead; and examples, the best ones first, which its man page and the tests run on the sample home.
macro_rules! verbs {
    ($make:ident) => {
        $make! {
            /// List sessions, newest activity first
            ///
            /// On a terminal, this prints a table of the sessions that fit the screen; `rejoin help marks` explains its letters.
            /// In a pipe, it prints one line per session, without a header and with nothing shortened. Tabs separate the
            /// fields: agent, id, title, directory, last activity, bytes, health, with --counts prompts and replies, and with --sort cost or
            /// --sort tokens both.
            #[command(visible_alias = "ls")]
            List(ListArgs) list {
                Daily main reads, see [Show Search Stats Agents Rename],
                in_place_of ["ps" => "list --running", "projects" => "list --group project", "sessions" => "list"],
                examples [
                    "rejoin list --since 7days --agent claude" => "the sessions of Claude Code of the last week",
                    "rejoin list cron" => "those with a word in their title, first prompt, directory, agent, id or marks",
                    "rejoin list --group project --limit 0" => "all of them, project by project",
                    "rejoin list --sort cost --limit 5" => "those with the highest costs, as far as their agents record costs",
                    "rejoin list --format csv --fields agent,id,launch_dir,active_at" => "a table for a spreadsheet",
                ]
            }
            /// Find sessions by what was said in them
            ///
            /// This reads every message of every session and prints the best match first; `--sort active_at` prints the newest session
            /// first. Words are found in any form and in any case. In a pipe, it prints one line per message. Tabs separate the
            /// fields: agent, id, role, time, the match and the text around it.
            Search(SearchArgs) search {
                Daily main reads, see [List Show Resume],
                in_place_of ["find" => "search TEXT", "grep" => "search TEXT"],
                examples [
                    "rejoin search relay" => "where that was said",
                    "rejoin search --regex 'relay|queue' --role user" => "prompts with one or the other",
                    "rejoin search relay --sessions" => "only the sessions",
                ]
            }
            /// Show everything that is known about a session
            Show(ShowArgs) show {
                Daily main reads, see [List Search Export Resume],
                in_place_of [
                    "view" => "show SESSION", "cat" => "show SESSION", "log" => "show SESSION",
                    "info" => "show SESSION", "path" => "show SESSION --path",
                ],
                examples [
                    "rejoin show licence" => "everything that is known of a session",
                    "rejoin show latest --messages 3" => "the last three messages of the newest one",
                    "rejoin show 5a1e --transcript" => "the whole conversation",
                ]
            }
            /// Resume a session with its agent, in the session's directory
            ///
            /// The agent replaces this program, so the exit status is the agent's. Without SESSION, a
            /// terminal shows a picker: type to find a session, press Enter to resume it and ? to see every key.
            Resume(ResumeArgs) resume {
                Daily main changes, see [List Search Rewind Move],
                in_place_of [
                    "open" => "resume SESSION", "continue" => "resume SESSION", "attach" => "resume SESSION",
                    "last" => "resume latest", "latest" => "resume latest", "pick" => "resume", "." => "resume .",
                ],
                examples [
                    "rejoin resume" => "pick a session on the terminal",
                    "rejoin resume licence" => "continue the one that has this word in its title",
                    "rejoin resume latest --agent claude" => "the newest one of Claude Code",
                    "rejoin resume 5a1e --print" => "only print the command",
                ]
            }
            /// Count sessions, messages, bytes, active days, tokens and costs
            ///
            /// They are counted by agent, project, model and week. This reads every transcript to its end. Sub-agents count with their
            /// session. Tokens and costs are those that an agent records; if it records none, there are none. In a pipe, this prints
            /// one line per row. Tabs separate the fields: key, value, sessions, prompts, replies, bytes, active days, tokens read,
            /// read from a cache, and written, and the cost in US dollars.
            Stats(StatsArgs) stats {
                Daily main reads, see [List Agents],
                examples [
                    "rejoin stats" => "counts by agent, project, model and week",
                    "rejoin stats --since 90d --by week" => "the last weeks",
                    "rejoin stats --by session" => "the sessions with the highest costs, then those with the most tokens",
                ]
            }
            /// Find problems in sessions and stores, and fix them
            ///
            /// Each problem has its evidence and the command that fixes it. This changes nothing without --fix or --accept. The exit
            /// status is 4 if there is an error or a warning, or with --strict any finding.
            Doctor(DoctorArgs) doctor {
                Repair main changes, see [Rewind Backfill Move Undo],
                examples [
                    "rejoin doctor" => "what is wrong",
                    "rejoin doctor --fix --dry-run" => "what can be fixed without losing anything",
                    "rejoin doctor --check missing-directory --all-findings" => "every finding of one check",
                ]
            }
            /// Make a new session up to the last good reply of one that is stuck
            ///
            /// The new session has the messages before the point that you choose, in the same directory; the old one stays as it is. For
            /// Claude Code, which can then resume the new session. `rejoin doctor` reports sessions that are stuck.
            Rewind(RewindArgs) rewind {
                Repair main changes, see [Doctor Resume Undo],
                examples [
                    "rejoin rewind 5a1e --to 4 --dry-run" => "what a new session with the first 4 messages is",
                    "rejoin rewind 5a1e --to 2" => "a new session with the first 2 messages",
                ]
            }
            /// Write or repair the session-info.json of Amplifier sessions
            ///
            /// This changes only sessions whose session-info.json is missing or unusable. It looks for evidence of the
            /// working directory. A directory counts only if its encoded name is the name of the session's project.
            Backfill(BackfillArgs) backfill {
                Repair more changes, see [Doctor Hook Save Resume],
                examples ["rejoin backfill --every --dry-run" => "which sessions lack a record, and what it would say"]
            }
            /// Undo what a run of rejoin changed
            ///
            /// Every file and directory comes back with its contents, mode and times. A file that has changed since is left
            /// alone and reported. Without RUN, this undoes the newest run that can be undone. What a run removed is in the trash until
            /// `cleanup` or --purge deletes it.
            Undo(UndoArgs) undo {
                Repair main changes, see [Cleanup Delete Restore],
                in_place_of ["trash" => "undo --list"],
                examples [
                    "rejoin undo --list" => "the runs that can be undone",
                    "rejoin undo --dry-run" => "what undoing the newest restores",
                    "rejoin undo 20261121-233000 8e7d" => "restore one session of that run",
                    "rejoin undo --purge --older-than 14d --yes" => "delete older things permanently",
                ]
            }
            /// Copy sessions to an archive, where no agent deletes them
            ///
            /// An archived session includes everything that belongs to it. The archive is compressed and stores each content
            /// once: archiving a session again adds only what is new. The sessions stay where they are.
            Archive(ArchiveArgs) archive {
                Keep main changes, see [Restore Sync Cleanup],
                in_place_of ["backup" => "archive SESSION"],
                examples [
                    "rejoin archive --expiring 7" => "keep what an agent deletes within a week",
                    "rejoin archive licence" => "keep one session",
                    "rejoin archive --verify" => "whether everything in the archive is whole",
                ]
            }
            /// Put an archived session back where its agent finds it
            ///
            /// This checks everything first, and never overwrites a file. `rejoin undo` reverses it. The removal of a session that is not
            /// archived is undone, if the trash still has it.
            Restore(RestoreArgs) restore {
                Keep main changes, see [Archive Undo],
                examples ["rejoin restore 8e7d" => "restore an archived session"]
            }
            /// Protect sessions from `cleanup` and `delete`
            Pin(PinArgs) pin {
                Keep more changes, see [Tag Cleanup Delete],
                in_place_of ["unpin" => "pin --remove SESSION"],
                examples [
                    "rejoin pin licence" => "no cleanup takes it",
                    "rejoin pin --list" => "what is pinned",
                    "rejoin pin --remove 31c5" => "let it go again",
                ]
            }
            /// Give sessions words by which every command finds them
            ///
            /// `list tag:relay`, `search cron tag:relay` and `cleanup --tag scratch` then take the sessions with that tag.
            Tag(TagArgs) tag {
                Keep main changes, see [Pin List Cleanup],
                examples [
                    "rejoin tag licence +shop +later" => "give it two tags",
                    "rejoin tag licence -later" => "remove one",
                    "rejoin tag --list" => "what is tagged",
                ]
            }
            /// Remove old sessions, by age, number or size; safe in cron
            ///
            /// Sessions and everything that belongs to them go to the trash, and `rejoin undo` restores them. A session stays if it
            /// is in use, changed within the last hour, pinned, unreadable, or the parent of a session that stays. docs/cleanup.md describes the policy.
            /// If another rejoin is changing something, this run does nothing and succeeds; the next run does the work.
            Cleanup(CleanupArgs) cleanup {
                Keep main changes, see [Delete Archive Pin Undo Config],
                in_place_of ["gc" => "cleanup", "prune" => "cleanup"],
                examples [
                    "rejoin cleanup --older-than 60d --dry-run" => "what would go",
                    "rejoin cleanup --older-than 60d --keep-last 3 --archive --yes --quiet" => "for cron: archived first",
                    "rejoin cleanup --empty --any-age --yes" => "only what has no conversation",
                ]
            }
            /// Remove sessions and everything that belongs to them
            ///
            /// They and their sub-agents go to the trash, and `rejoin undo` restores them. With --copy, only one copy of a session goes:
            /// use this when copies differ and only you can say which one counts.
            Delete(DeleteArgs) delete {
                Keep main changes, see [Cleanup Undo Pin Archive],
                in_place_of [
                    "rm" => "delete SESSION", "remove" => "delete SESSION", "dedupe" => "delete SESSION --copy N",
                ],
                examples [
                    "rejoin delete c7e8 --dry-run" => "what belongs to a session",
                    "rejoin delete c7e8 --yes" => "move it to the trash",
                    "rejoin delete 31c5 --copy 2" => "move its second copy to the trash, and keep the others",
                ]
            }
            /// Let sessions follow a directory that was moved or renamed
            ///
            /// This changes the agents' files about the sessions of OLD_DIR and its subdirectories, so that each agent finds
            /// them from NEW_DIR. It does not move the directory itself. It never overwrites a session, and leaves a session
            /// that is in use where it is. `rejoin undo` reverses it. docs/moving.md says what changes for each agent.
            Move(MoveArgs) relocate {
                Move main changes, see [Doctor Resume Undo],
                in_place_of ["mv" => "move OLD_DIR NEW_DIR"],
                examples [
                    "rejoin move /opt/shop ~/shop --dry-run" => "what a move of this directory changes",
                    "rejoin move --detect" => "where directories that are gone may be now",
                ]
            }
            /// Continue sessions on another machine, through a shared archive
            ///
            /// This archives the sessions that changed here, and brings those here that another machine continued. A session
            /// that is here is replaced only if the other state begins with the whole session; if both were continued, both are
            /// kept, and the answer names them. A session in use stays as it is. `rejoin undo` reverses it.
            Sync(SyncArgs) sync {
                Move more changes, see [Archive Restore],
                examples [
                    "rejoin sync --dry-run" => "the sessions that would go into the archive, or come from it",
                    "rejoin sync --archive-dir ~/shared"
                        => "archive what changed here, and bring what another machine continued",
                ]
            }
            /// Give a session another title, for its agent too
            ///
            /// Works for Claude Code and Kimi CLI. For a session of another agent it is refused, and the answer names the agent's own
            /// command if there is one. A session that is in use keeps its title. `rejoin undo` reverses it.
            Rename(RenameArgs) rename {
                Move more changes, see [List Tag Undo],
                examples ["rejoin rename 5a1e 'Cron mails'" => "another title"]
            }
            /// Write sessions as Markdown, as pages of HTML or as JSON
            ///
            /// Calls of tools are folded, sub-agents follow their session. A page of HTML needs nothing else: it loads nothing
            /// and runs nothing, and what was said is text in it. Without --output, one session goes to standard output.
            Export(ExportArgs) export {
                Integrate main reads, see [Show Archive],
                examples [
                    "rejoin export licence" => "a conversation as Markdown",
                    "rejoin export licence --format html --output licence.html" => "the same as one page of HTML",
                    "rejoin export --every --format html --output sessions" => "every session into a directory, with an index",
                ]
            }
            /// Save a session or its directory, for programs that keep sessions
            ///
            /// The files are in the agent's own format, so the agent and the other commands can read them. Each file is
            /// written whole or not at all. A failure ends with exit code 1, or with 0 under --best-effort.
            Save(SaveArgs) save {
                Integrate more changes, see [Hook Backfill],
                examples ["rejoin save session-info --session-dir sessions/a --working-dir /opt" => "where a session belongs"]
            }
            /// Install hooks in agents, and handle the events that they send
            ///
            /// An agent runs `hook claude` or `hook amplifier` itself and sends an event on standard input. These two never
            /// make the agent fail: they report an error in one line on standard error and end with exit code 0.
            Hook(HookArgs) hook {
                Integrate more changes, see [Save Backfill],
                examples ["rejoin hook install --dry-run" => "what the settings of Claude Code would gain"]
            }
            /// Print the completion script of a shell
            ///
            /// It completes commands, options and their values, and the ids of your sessions with their titles.
            #[command(after_help = INSTALL_COMPLETIONS)]
            Completions(CompletionsArgs) complete {
                Integrate more reads, see [Help Config],
                examples ["rejoin completions fish" => "the script that fish reads"]
            }
            /// Show which agents have sessions here, and where rejoin looked
            ///
            /// In a pipe, this prints one line per store. Tabs separate the fields: agent, store, sessions, other sessions
            /// (sub-agents, closed and empty ones), bytes, last activity, version of the agent.
            Agents(AgentsArgs) agents {
                Integrate main reads, see [List Stats Doctor],
                examples ["rejoin agents" => "which agents keep sessions here, and where rejoin looked in vain"]
            }
            /// Show the settings of the config file, and the defaults
            ///
            /// The file is ~/.config/rejoin/config.toml, or rejoin/config.toml in XDG_CONFIG_HOME. `rejoin help config` names its
            /// keys. rejoin never writes it.
            Config(FormatArgs) config {
                Integrate more reads, see [Cleanup List Help],
                examples [
                    "rejoin config" => "the value of each key, and its source",
                    "rejoin help config" => "every key of the file",
                ]
            }
            /// Print help for a command or a topic
            Help(HelpArgs) help {
                Integrate last reads, see [List Config],
                examples [
                    "rejoin help sessions" => "how to name a session",
                    "rejoin help hook install" => "the help of a command",
                ]
            }
        }
    };
}
pub(crate) use verbs;
