// Package show groups what presents a run to a person.
//
//   - recording writes a counterexample to a directory, and reads it again.
//   - page is the page of timeline.html and of interlock explore, with its program in web.
//
// In the module of the command, cmd/internal/show has explore, which serves schedules that are
// chosen by hand (explore/terminal steps through a recorded one), and dashboard, the live page of
// interlock serve.
//
// Packages history/timeline and history/explain, below it, decide what is shown of a history.
package show
