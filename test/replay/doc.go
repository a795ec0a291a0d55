// Package replay holds the tests that play what has happened elsewhere: job
// logs against independent reference schedules, and kept journals. It has no
// code of its own.
package replay
