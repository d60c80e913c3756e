// When the first host that --rdzv-endpoint lists founds a c10d job. A job of this id may live already, at a node that
// hosts the store since the first host was lost, so all others of the list are asked before. Used by ListedPlaces and
// ElasticStore, which do the asking. Pure: it knows no clock and no link.
//
// What is proven: a store with this job there, and an agent that knows of a job, whose place it tells; then none is
// founded. What is not: that nobody has a job. A host that refuses the connection may run an agent at another port, a
// firewall may refuse in its name, and a job may live at a host that is not in the list. So the host of a job whose
// store has moved also looks at the places of the list, and the younger one of two jobs gives way
// (core/session/old_address). A host that does not answer may have a job. If half of the list or more does not answer,
// this node may be the one that is cut off, and it founds nothing.
#pragma once

#include <vector>

namespace launch {

// What is known of the job at one place of the list.
enum class Hearsay {
  silent,  // no answer has come from there, or the name leads nowhere
  nobody,  // no process listens there
  no_job,  // a process does, and knows of no job of this id
  job,     // it knows of one, which could not be reached
};

// `said`: by all places of the list, that of this node among them. `waited`: those that are silent have had their time.
bool may_found(const std::vector<Hearsay>& said, bool waited);

}  // namespace launch
