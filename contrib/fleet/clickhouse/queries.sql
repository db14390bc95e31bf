-- name: Where is a session?
SELECT host, agent, id, title, launch_dir.path AS dir, active_at
FROM sessions FINAL WHERE id LIKE '00000007-0000-4000-8000-%' ORDER BY active_at DESC LIMIT 20;

-- name: What is deleted within a week and in no archive?
-- What a host no longer names has the day of an older file.
SELECT host, agent, count() AS sessions FROM expiring FINAL LEFT ANTI JOIN archived USING (host, agent, id)
WHERE (host, day) IN (SELECT host, max(day) FROM sizes GROUP BY host) GROUP BY host, agent ORDER BY sessions DESC, host LIMIT 20;

-- name: Which sessions are on several hosts?
SELECT agent, id, uniqExact(host) AS hosts, min(host) AS one, max(host) AS another
FROM sessions GROUP BY agent, id HAVING hosts > 1 ORDER BY hosts DESC, id LIMIT 20;

-- name: Where does the space go?
SELECT agent, host, launch_dir.path AS dir, count() AS sessions, sum(size_bytes) AS bytes
FROM sessions FINAL GROUP BY agent, host, dir ORDER BY bytes DESC, host, dir LIMIT 20;

-- name: What was worked on last week?
SELECT launch_dir.path AS dir, count() AS sessions, uniqExact(host) AS hosts, max(active_at) AS last
FROM sessions FINAL WHERE active_at >= (SELECT max(active_at) FROM sessions) - INTERVAL 7 DAY
GROUP BY dir ORDER BY sessions DESC, dir LIMIT 20;

-- name: How do the sizes grow?
SELECT day, agent, sum(sessions) AS sessions, sum(bytes) AS bytes FROM sizes FINAL
GROUP BY day, agent ORDER BY day DESC, agent LIMIT 20;
