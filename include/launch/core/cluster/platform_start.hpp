// The start by a platform that runs one launch on each machine or in each pod: Kubernetes (Indexed Job, JobSet,
// LeaderWorkerSet, PyTorchJob, Volcano), SageMaker, AzureML, AWS Batch, SkyPilot, dstack, NGC. What sets PET_
// variables, as Kubeflow's Trainer, needs nothing here. A shell that was opened in a pod by "kubectl exec" has the
// variables of the pod and is no part of the job. Pure.
//
// Source: the controllers' own code for Kubernetes, SageMaker and dstack, public programs for the others; the
// environments are in tests/support/starts.hpp.
#pragma once

#include "launch/core/cluster/cluster_start.hpp"

namespace launch {

const std::vector<std::string_view>& platform_words();

// Whether the platform of this word, one of platform_words(), has left variables.
bool speaks_of_platform(std::string_view word, const Environment& env);

// What SageMaker writes for a container in which its own toolkit does not run, as the variables that the toolkit would
// make of it. `text` is that of sagemaker_file. Variables that are there count, and a text that is something else does
// not.
constexpr const char* sagemaker_file = "/opt/ml/input/config/resourceconfig.json";
Environment with_sagemaker_file(Environment env, std::string_view text);

// A start whose number of nodes is 0 does not say how many there are: the user must.
// `insists`: the user says that it is this one, whatever speaks against it.
Result<ClusterView> view_platform(std::string_view word, const Environment& env, const ProcessFacts& process,
                                  bool insists = false);

}  // namespace launch
