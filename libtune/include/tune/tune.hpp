#pragma once

/// All of tune: what a program that searches needs.

#include <tune/callback.hpp>
#include <tune/checkpoint.hpp>
#include <tune/config.hpp>
#include <tune/error.hpp>
#include <tune/experiment.hpp>
#include <tune/fsck.hpp>
#include <tune/ids.hpp>
#include <tune/init.hpp>
#include <tune/json.hpp>
#include <tune/metrics.hpp>
#include <tune/mode.hpp>
#include <tune/objective.hpp>
#include <tune/progress.hpp>
#include <tune/random.hpp>
#include <tune/registry.hpp>
#include <tune/resources.hpp>
#include <tune/result.hpp>
#include <tune/result_grid.hpp>
#include <tune/scheduler.hpp>
#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/fifo.hpp>
#include <tune/schedulers/pasha.hpp>
#include <tune/schedulers/resource_changing.hpp>
#include <tune/search_space.hpp>
#include <tune/searcher.hpp>
#include <tune/searchers/grid.hpp>
#include <tune/searchers/random.hpp>
#include <tune/stop.hpp>
#include <tune/track.hpp>
#include <tune/trainable.hpp>
#include <tune/trial.hpp>
#include <tune/tune_run.hpp>
