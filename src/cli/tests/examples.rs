//! The examples of the man pages; a test runs each of them, on the sample home with one session archived and deleted.

/// A command and its purpose.
pub(super) type Example = (&'static str, &'static str);

/// Returns the examples of a page.
pub(super) fn of(page: &str) -> &'static [Example] {
    match page {
        "rejoin" => &[
            ("rejoin list --here", "what was done in this directory"),
            ("rejoin resume licence", "continue the session that has this word in its title, from anywhere"),
            ("rejoin doctor", "what is wrong, each with the command that helps"),
            ("rejoin cleanup --older-than 60d --dry-run", "what a cleanup would remove"),
        ],
        "rejoin-list" => &[
            ("rejoin list --since 7days --agent claude", "the sessions of Claude Code of the last week"),
            ("rejoin list cron", "those with a word in their title, first prompt, directory, agent, id or marks"),
            ("rejoin list --group project --limit 0", "all of them, project by project"),
            ("rejoin list --format csv --fields agent,id,dir,active", "a table for a spreadsheet"),
        ],
        "rejoin-agents" => &[("rejoin agents", "which agents keep sessions here, and where rejoin looked in vain")],
        "rejoin-completions" => &[("rejoin completions fish", "the script that fish reads")],
        "rejoin-show" => &[
            ("rejoin show licence", "everything that is known of a session"),
            ("rejoin show latest --messages 3", "the last three messages of the newest one"),
            ("rejoin show 5a1e --transcript", "the whole conversation"),
        ],
        "rejoin-search" => &[
            ("rejoin search relay", "where that was said"),
            ("rejoin search --regex 'relay|queue' --role user", "prompts with one or the other"),
            ("rejoin search relay --sessions", "only the sessions"),
        ],
        "rejoin-stats" => &[
            ("rejoin stats", "counts by agent, project, model and week"),
            ("rejoin stats --since 90d --by week", "the last weeks"),
        ],
        "rejoin-export" => &[
            ("rejoin export licence", "a conversation as Markdown"),
            ("rejoin export licence --format html --output licence.html", "the same as one page of HTML"),
            ("rejoin export --every --format html --output sessions", "every session into a directory, with an index"),
        ],
        "rejoin-resume" => &[
            ("rejoin resume", "pick a session on the terminal"),
            ("rejoin resume licence", "continue the one that has this word in its title"),
            ("rejoin resume latest --agent claude", "the newest one of Claude Code"),
            ("rejoin resume 5a1e --print", "only print the command"),
        ],
        "rejoin-backfill" => {
            &[("rejoin backfill --every --dry-run", "which sessions lack a record, and what it would say")]
        }
        "rejoin-save" => {
            &[("rejoin save session-info --session-dir sessions/a --working-dir /opt", "where a session belongs")]
        }
        "rejoin-save-session-info" => {
            &[("rejoin save session-info --session-dir sessions/a --working-dir /opt", "where a session belongs")]
        }
        "rejoin-save-transcript" => &[(
            "echo '[{\"role\":\"user\",\"content\":\"hi\"}]' | rejoin save transcript --session-dir sessions/a",
            "its messages",
        )],
        "rejoin-save-leo" => &[(
            "rejoin save leo --app-dir . --session-id 31c5f2e8-b07a-4d96-8c14-a9e3d0b7f652",
            "which session built this app",
        )],
        "rejoin-save-jido" => &[("rejoin save jido < session.json", "a session, completed and signed")],
        "rejoin-hook" => &[("rejoin hook install --dry-run", "what the settings of Claude Code would gain")],
        "rejoin-hook-install" => {
            &[("rejoin hook install --dry-run", "what would be changed"), ("rejoin hook install", "set the hooks up")]
        }
        "rejoin-hook-status" => &[("rejoin hook status", "which settings have them")],
        "rejoin-hook-uninstall" => &[("rejoin hook uninstall", "take them out again")],
        "rejoin-hook-claude" => &[(
            "echo '{\"hook_event_name\":\"SessionEnd\",\"session_id\":\"x\"}' | rejoin hook claude",
            "what Claude Code calls at each event",
        )],
        "rejoin-hook-amplifier" => {
            &[("echo '{}' | rejoin hook amplifier", "what Amplifier calls after a tool or a turn")]
        }
        "rejoin-archive" => &[
            ("rejoin archive --expiring 7", "keep what an agent deletes within a week"),
            ("rejoin archive licence", "keep one session"),
            ("rejoin archive --verify", "whether everything in the archive is whole"),
        ],
        "rejoin-restore" => &[("rejoin restore 8e7d", "put an archived session back")],
        "rejoin-sync" => &[
            ("rejoin sync --dry-run", "the sessions that would go into the archive, or come from it"),
            (
                "rejoin sync --archive-dir ~/shared",
                "archive what changed here, and bring what another machine continued",
            ),
        ],
        "rejoin-move" => &[
            ("rejoin move /opt/shop ~/shop --dry-run", "what a move of this directory changes"),
            ("rejoin move --detect", "where directories that are gone may be now"),
        ],
        "rejoin-rename" => &[("rejoin rename 5a1e 'Cron mails'", "another title")],
        "rejoin-cleanup" => &[
            ("rejoin cleanup --older-than 60d --dry-run", "what would go"),
            ("rejoin cleanup --older-than 60d --keep-last 3 --archive --yes --quiet", "for cron: archived first"),
            ("rejoin cleanup --empty --any-age --yes", "only what has no conversation"),
        ],
        "rejoin-delete" => &[
            ("rejoin delete c7e8 --dry-run", "what belongs to a session"),
            ("rejoin delete c7e8 --yes", "move it to the trash"),
            ("rejoin delete 31c5 --copy 2", "move its second copy to the trash, and keep the others"),
        ],
        "rejoin-pin" => &[
            ("rejoin pin licence", "no cleanup takes it"),
            ("rejoin pin --list", "what is pinned"),
            ("rejoin pin --remove 31c5", "let it go again"),
        ],
        "rejoin-rewind" => &[
            ("rejoin rewind 5a1e --to 4 --dry-run", "what a new session with the first 4 messages is"),
            ("rejoin rewind 5a1e --to 2", "a new session with the first 2 messages"),
        ],
        "rejoin-tag" => &[
            ("rejoin tag licence +shop +later", "give it two tags"),
            ("rejoin tag licence -later", "remove one"),
            ("rejoin tag --list", "what is tagged"),
        ],
        "rejoin-undo" => &[
            ("rejoin undo --list", "the runs that can be undone"),
            ("rejoin undo --dry-run", "what undoing the newest restores"),
            ("rejoin undo 20261121-233000 8e7d", "restore one session of that run"),
            ("rejoin undo --purge --older-than 14d --yes", "delete older things permanently"),
        ],
        "rejoin-doctor" => &[
            ("rejoin doctor", "what is wrong"),
            ("rejoin doctor --fix --dry-run", "what can be fixed without losing anything"),
            ("rejoin doctor --check missing-directory --all-findings", "every finding of one check"),
        ],
        "rejoin-config" => &[
            ("rejoin config", "the value of each key, and its source"),
            ("rejoin help config", "every key of the file"),
        ],
        "rejoin-help" => {
            &[("rejoin help sessions", "how to name a session"), ("rejoin help hook install", "the help of a command")]
        }
        _ => &[],
    }
}
